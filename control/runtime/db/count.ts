import type { Queryable } from './pool.ts'

/** The count of a statement with one row and the column `count`. */
export async function countOf(db: Queryable, sql: string, values: readonly unknown[] = []): Promise<number> {
  const counted = await db.query<{ count: number }>(sql, [...values])
  return counted.rows[0]?.count ?? 0
}
