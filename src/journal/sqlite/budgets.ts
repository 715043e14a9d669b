import { spentTogether } from '../../../machines/index.ts';
import { type BudgetShare, type BudgetStore, drawnBy, fitsBudget, sharesTogether } from '../../shared/budget-store.ts';
import type { Database } from './database.ts';

/** A table of its own, made when a budget is first shared: not every journal has one. */
const table = `CREATE TABLE IF NOT EXISTS budgets (
  budget TEXT NOT NULL, session TEXT NOT NULL, share TEXT NOT NULL, PRIMARY KEY (budget, session)
) STRICT, WITHOUT ROWID`;

/** Keeps shared budgets in a SQLite journal. */
export function sqliteBudgets(database: Database): BudgetStore {
  const within = <T>(work: () => T) =>
    database.write(() => {
      database.run(table);
      return work();
    });
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
      within(() => {
        if (most !== null && !fitsBudget(spentTogether(drawnBy(totalOf(budget, session)), drawnBy(share)), most))
          return false;
        const sql = 'INSERT INTO budgets VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET share = excluded.share';
        database.run(sql, budget, session, JSON.stringify(share));
        return true;
      }),
    share: (budget, session) => within(() => shareOf(budget, session)),
    total: (budget) => within(() => totalOf(budget, null)),
  };
}
