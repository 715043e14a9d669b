import { type BudgetShare, type BudgetStore, drawnBy, sharesTogether } from '../../shared/budget-store.ts';

type Run = <T extends object>(sql: string, values: readonly unknown[]) => Promise<T[]>;

/** The row of a budget is what its sessions wait for. Sums of fractions are inexact, so a billionth of an amount of money is nothing. */
const put = `
  WITH before AS (SELECT requests, tokens, cost FROM $.budget_shares WHERE budget = $1 AND session = $2),
  change AS (SELECT
    $4 - coalesce((SELECT requests FROM before), 0) AS requests,
    $5 - coalesce((SELECT tokens FROM before), 0) AS tokens,
    $6 - coalesce((SELECT cost FROM before), 0) AS cost),
  taken AS (
    UPDATE $.budgets AS all_of SET
      requests = all_of.requests + change.requests, tokens = all_of.tokens + change.tokens, cost = all_of.cost + change.cost
    FROM change WHERE all_of.name = $1 AND all_of.requests + change.requests <= $7
      AND all_of.tokens + change.tokens <= $8 AND all_of.cost + change.cost <= $9 RETURNING name
  )
  INSERT INTO $.budget_shares (budget, session, share, requests, tokens, cost)
  SELECT name, $2::text, $3::text, $4, $5, $6 FROM taken
  ON CONFLICT (budget, session) DO UPDATE SET
    share = excluded.share, requests = excluded.requests, tokens = excluded.tokens, cost = excluded.cost
  RETURNING session`.replaceAll(/\$([4-9])/g, '$$$1::double precision');

/** Keeps shared budgets in a PostgreSQL journal. `run` runs one statement, which is one transaction. */
export function postgresBudgets(run: Run): BudgetStore {
  const known = new Map<string, Promise<unknown>>();
  const prepared = async (budget: string) => {
    const row = known.get(budget) ?? run('INSERT INTO $.budgets VALUES ($1, 0, 0, 0) ON CONFLICT DO NOTHING', [budget]);
    known.set(budget, row);
    await row.catch((error) => {
      known.delete(budget);
      throw error;
    });
  };
  const most = (limit: number | null | undefined) => limit ?? 'Infinity';
  return {
    async put(budget, session, share, limits) {
      await prepared(budget);
      const { requests, tokens, costUsd } = drawnBy(share);
      const cost = limits?.costUsd == null ? null : limits.costUsd * (1 + 1e-9);
      const bounds = [most(limits?.requests), most(limits?.tokens), most(cost)];
      const values = [budget, session, JSON.stringify(share), requests, tokens, costUsd, ...bounds];
      return (await run(put, values)).length > 0;
    },
    async share(budget, session) {
      const sql = 'SELECT share FROM $.budget_shares WHERE budget = $1 AND session = $2';
      const [row] = await run<{ share: string }>(sql, [budget, session]);
      return row === undefined ? null : (JSON.parse(row.share) as BudgetShare);
    },
    async total(budget) {
      const rows = await run<{ share: string }>('SELECT share FROM $.budget_shares WHERE budget = $1', [budget]);
      return sharesTogether(rows.map(({ share }) => JSON.parse(share) as BudgetShare));
    },
  };
}
