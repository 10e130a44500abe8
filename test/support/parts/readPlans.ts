import type pg from 'pg'
import type { Pool } from '../../../control/runtime/db/pool.ts'

/** How many receipts a statement has found, and how many of them it adds up. */
export interface ReceiptsRead {
  readonly rows: number
  readonly addedUp: number
}

interface Plan {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly Plans?: readonly Plan[]
}

/** A partition of receipts, not a table about them. */
const PARTITION = /^receipts_(?:first|rest|\d{4}_\d\d)$/
const ADDING = new Set(['Aggregate', 'WindowAgg', 'Group'])

/** A pool of reads, each of which is run once more before, with its plan. It has no transactions. @param note takes what each has read */
export function explainedPool(pool: Pool, note: (read: ReceiptsRead) => void): Pool {
  const query = async (statement: string | pg.QueryConfig, given?: unknown[]) => {
    const { text, values = given } = typeof statement === 'string' ? { text: statement } : statement
    const explained = { text: `EXPLAIN (ANALYZE, FORMAT JSON) ${text}`, ...(values && { values }) }
    const [found] = (await pool.query<{ 'QUERY PLAN': { Plan: Plan }[] }>(explained)).rows
    note(receiptsRead(found?.['QUERY PLAN'][0]?.Plan))
    return pool.query(text, values)
  }
  return { query } as unknown as Pool
}

function receiptsRead(plan: Plan | undefined): ReceiptsRead {
  const nodes = plan === undefined ? [] : nodesOf(plan)
  const scans = nodes.filter((node) => PARTITION.test(node['Relation Name'] ?? ''))
  // Rows of a loop are rounded to hundredths.
  const rows = Math.round(scans.reduce((sum, scan) => sum + scan['Actual Rows'] * scan['Actual Loops'], 0))
  return { rows, addedUp: nodes.some((node) => ADDING.has(node['Node Type'])) ? rows : 0 }
}

function nodesOf(plan: Plan): Plan[] {
  return [plan, ...(plan.Plans ?? []).flatMap(nodesOf)]
}
