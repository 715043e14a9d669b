import { spentTogether } from '../../../machines/index.ts';
import { type BudgetShare, type BudgetStore, drawnBy, fitsBudget, sharesTogether } from '../../shared/budget-store.ts';
import type { Database } from './database.ts';

/** Keeps shared budgets in a SQLite journal. */
export function sqliteBudgets(database: Database): BudgetStore {
  const shareOf = (budget: string, session: string) => {
    const sql = 'SELECT share FROM budgets WHERE budget = ? AND session = ?';
    const [row] = database.all<{ share: string }>(sql, budget, session);
    return row === undefined ? null : (JSON.parse(row.share) as BudgetShare);
  };
  const totalOf = (budget: string, without: string | null) => {
    const sql = 'SELECT share FROM budgets WHERE budget = ? AND session IS NOT ?';
    return sharesTogether(
      database.all<{ share: string }>(sql, budget, without).map(({ share }) => JSON.parse(share) as BudgetShare),
    );
  };
  return {
    put: (budget, session, share, most) =>
      database.write(() => {
        if (most !== null && !fitsBudget(spentTogether(drawnBy(totalOf(budget, session)), drawnBy(share)), most))
          return false;
        const sql = 'INSERT INTO budgets VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET share = excluded.share';
        database.run(sql, budget, session, JSON.stringify(share));
        return true;
      }),
    share: (budget, session) => database.read(() => shareOf(budget, session)),
    total: (budget) => database.read(() => totalOf(budget, null)),
  };
}
