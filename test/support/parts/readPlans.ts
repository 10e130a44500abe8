import type pg from 'pg'
import type { Client, Pool } from '../../../control/runtime/db/pool.ts'

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

/** Begins and ends of transactions have no plan. */
const PLANNED = /^\s*(?:SELECT|WITH)\b/

/** A pool of reads, each of which is run once more before, with its plan. @param note takes what each has read */
export function explainedPool(pool: Pool, note: (read: ReceiptsRead) => void): Pool {
  const explaining =
    (db: Pick<Client, 'query'>) =>
    async (statement: string | pg.QueryConfig, given?: unknown[]): Promise<pg.QueryResult> => {
      const { text, values = given } = typeof statement === 'string' ? { text: statement } : statement
      if (PLANNED.test(text)) {
        const explained = { text: `EXPLAIN (ANALYZE, FORMAT JSON) ${text}`, ...(values && { values }) }
        const [found] = (await db.query<{ 'QUERY PLAN': { Plan: Plan }[] }>(explained)).rows
        note(receiptsRead(found?.['QUERY PLAN'][0]?.Plan))
      }
      return db.query(text, values)
    }
  const connect = async () => {
    const client = await pool.connect()
    const member = (name: 'on' | 'off' | 'release') => client[name].bind(client)
    return { query: explaining(client), on: member('on'), off: member('off'), release: member('release') }
  }
  return { query: explaining(pool), connect } as unknown as Pool
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
