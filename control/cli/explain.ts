import { Explainer, type Explanation, OPERATOR } from '../records/explain/explainer.ts'
import { ReceiptReader } from '../records/receipts/receiptReader.ts'
import { type Arguments, argument, type Command } from './command.ts'
import type { CliContext } from './context.ts'
import { facts, table } from './table.ts'

const HEADINGS = ['CHECK', 'RESULT', 'LIMIT', 'USED', 'AVAILABLE', 'NEEDED', 'UNIT', 'OF']

async function explain(args: Arguments, context: CliContext): Promise<undefined> {
  const { limits } = context
  const [pool, redis] = [await context.pool(), await context.redis()]
  const explainer = new Explainer(pool, redis, new ReceiptReader(pool, redis, limits), limits)
  const found = await explainer.explain(argument(args, 'REQUEST_ID'), OPERATOR)
  const rows = found.checks.map((one) =>
    [one.check, one.result, one.limit, one.used, one.available, one.needed, one.unit, one.subject].map(
      (cell) => cell ?? '',
    ),
  )
  const checks = rows.length === 0 ? '' : `\n\n${table(HEADINGS, rows)}`
  context.print(found, `${facts(factsOf(found).filter(([, value]) => value !== ''))}${checks}`)
}

function factsOf(found: Explanation): [string, string][] {
  const { error, hold, receipt } = found
  return [
    ['request', found.id],
    ['status', found.status],
    ['refused at', found.refused_at ?? ''],
    ['refused by', found.refused_by ?? ''],
    ['error', error === null ? '' : `${error.status} ${error.code}: ${error.message}`],
    ['account', found.account_id ?? ''],
    ['key', found.key_id ?? ''],
    ['route', found.route ?? ''],
    ['model', found.model ?? ''],
    [
      'worst case',
      hold === null ? '' : `${hold.usd} USD, at least ${hold.least_usd} USD, by sheet ${hold.price_sheet}`,
    ],
    ['tokens', hold?.tokens == null ? '' : `${hold.tokens} at worst`],
    ['receipt', receipt === null ? '' : JSON.stringify(receipt)],
  ]
}

export const EXPLAIN: Command = {
  synopsis: 'explain <REQUEST_ID>',
  summary: 'Explains why a request was refused, with the figure of every check; of one that ran, shows its receipt.',
  brief: 'explain why a request was refused',
  run: explain,
}
