import { type Arguments, argument, type CommandGroup, flag, UsageError } from './command.ts'
import { type CliContext, CommandError } from './context.ts'
import { facts } from './table.ts'

const DEFAULT_URL = 'http://127.0.0.1:8080'

/** Needs neither the book nor Redis: all that it reads is public. */
async function recomputeRoot(args: Arguments, context: CliContext): Promise<number> {
  const number = Number(argument(args, 'PERIOD'))
  if (!Number.isSafeInteger(number) || number < 1) throw new UsageError('a period is a number above 0')
  const { chainRpcUrl: rpcUrl, limits } = context
  if (rpcUrl === undefined) throw new CommandError('the chain is not known: set CHAIN_RPC_URL')
  const url = flag(args, 'url') ?? DEFAULT_URL
  // Loaded when it is needed, because that takes as long as all the rest of a command.
  const [rewards, { recompute }] = await Promise.all([
    import('../products/holders/rewards/publicRewards.ts'),
    import('../products/holders/rewards/recompute.ts'),
  ])
  const failed = (error: Error): never => {
    throw new CommandError(error.message.split('\n')[0] ?? '')
  }
  const { token, distributor, fromBlock, decimals, periods } = await rewards
    .readPublicRewards(url, number, limits)
    .catch(failed)
  const transfers = await rewards.readTransfers(rpcUrl, token, fromBlock, limits).catch(failed)
  const all = await recompute(periods, transfers, decimals)
  const { root = null, total = 0n, holders = 0 } = all.at(-1) ?? {}
  const told = periods.at(-1)?.root ?? null
  const published = (await rewards.publishedRoot(rpcUrl, distributor, number)) ?? null
  const faults = all.flatMap((one) => one.faults.map((fault) => `period ${one.number}: ${fault}`))
  if (root !== told) faults.push(`the gateway publishes the root ${told}`)
  if (published !== null && root !== published) faults.push(`the distributor has the root ${published}`)
  const shown = {
    number,
    root,
    token_amount: total.toString(),
    holders,
    transfers: transfers.length,
    published,
    faults,
  }
  context.print(
    shown,
    facts([
      ['period', String(number)],
      ['root', root ?? 'none: nothing is paid'],
      ['token amount', total.toString()],
      ['holders', String(holders)],
      ['transfers read', String(transfers.length)],
      ['published', published ?? 'not yet'],
      ['verdict', faults.length === 0 ? 'the same' : faults.join('; ')],
    ]),
  )
  return faults.length === 0 ? 0 : 1
}

export const REWARDS: CommandGroup = {
  name: 'rewards',
  summary: "rewards of the coin's holders",
  commands: [
    {
      synopsis: 'recompute <PERIOD>',
      summary:
        'Computes the root of a period from the chain and the public figures alone, and compares. Exit status 1 where it differs.',
      brief: 'Computes the root of a period from the chain and public figures.',
      flags: { url: { value: 'URL', help: `of the gateway; ${DEFAULT_URL} when left out` } },
      run: recomputeRoot,
    },
  ],
}
