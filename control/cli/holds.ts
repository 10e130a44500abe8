import { formatUsd } from '../../contract/money/units.ts'
import { listHolds } from '../admission/listHolds.ts'
import type { Arguments, CommandGroup } from './command.ts'
import type { CliContext } from './context.ts'
import { table } from './table.ts'
import { formatTime } from './values.ts'

async function list(_args: Arguments, context: CliContext): Promise<undefined> {
  const holds = await listHolds(await context.redis())
  const data = holds.map((hold) => ({
    request_id: hold.requestId,
    account_id: hold.accountId,
    key_id: hold.keyId,
    owner: hold.owner,
    model: hold.model,
    units: String(hold.holdUnits),
    usd: formatUsd(hold.holdUnits),
    held_at: formatTime(hold.heldAtMs),
  }))
  const rows = data.map((hold) => [hold.request_id, hold.account_id, hold.model, hold.usd, hold.held_at, hold.owner])
  const headings = ['REQUEST', 'ACCOUNT', 'MODEL', 'USD', 'SINCE', 'PROXY']
  context.print({ data }, holds.length === 0 ? 'no hold is open' : table(headings, rows))
}

export const HOLDS: CommandGroup = {
  name: 'holds',
  summary: 'show the open holds',
  commands: [{ synopsis: 'list', summary: 'Lists the open holds, oldest first.', run: list }],
}
