import { HOUR_MS } from '../../contract/api/time.ts'
import { coinDecimal } from '../../contract/money/coin.ts'
import { formatUsd } from '../../contract/money/units.ts'
import { listLeases, scanLeasesKeys, unitsOf } from '../admission/leaseRecord.ts'
import type { Arguments, CommandGroup } from './command.ts'
import type { CliContext } from './context.ts'
import { table } from './table.ts'
import { formatTime } from './values.ts'

async function list(_args: Arguments, context: CliContext): Promise<undefined> {
  const redis = await context.redis()
  const leases = await listLeases(redis, await scanLeasesKeys(redis))
  const data = leases
    .map((lease) => ({
      owner: lease.owner,
      account_id: lease.accountId,
      key_id: lease.keyId,
      units: String(unitsOf(lease)),
      usd: formatUsd(unitsOf(lease)),
      coin_units: String(lease.coinUnits),
      coin: coinDecimal(lease.coinNanos),
      hour: formatTime(lease.hour * HOUR_MS),
    }))
    .sort((a, b) => Number(b.units) - Number(a.units))
  const rows = data.map((lease) => [lease.owner, lease.account_id, lease.key_id, lease.usd, lease.hour])
  const headings = ['PROXY', 'ACCOUNT', 'KEY', 'USD', 'HOUR']
  context.print({ data }, data.length === 0 ? 'nothing is leased' : table(headings, rows))
}

export const LEASES: CommandGroup = {
  name: 'leases',
  summary: 'show the leases of the proxies',
  commands: [
    {
      synopsis: 'list',
      summary:
        'Lists leased amounts, largest first: free in the memory of a proxy, held, or charged and not delivered yet.',
      run: list,
    },
  ],
}
