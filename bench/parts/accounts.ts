import { loadOptions } from '../bodies.ts'
import { caseNamed, SMALL } from '../cases.ts'
import type { AccountsResult, Sample } from '../results.ts'
import type { Settings } from '../settings.ts'
import type { Stack } from '../targets/stack.ts'
import { startStack } from '../targets/stack.ts'
import type { World } from '../targets/world.ts'
import { FEW_ACCOUNTS, modelOf, pinStack, sluiceMeasured } from '../targets/world.ts'

const MANY_ACCOUNTS = 100_000
const QUICK_ACCOUNTS = 1_000
const WARM_UP_SECONDS_MAX = 120

/**
 * Measures small answers on two stacks by turns: one with few accounts, one with many. On the second every account
 * sends requests, so that none of them is served from what a processor's cache holds of a few.
 */
export async function measureAccounts(
  settings: Settings,
  world: World,
  stops: (() => Promise<void>)[],
): Promise<{ result: AccountsResult; stack: Stack } | undefined> {
  const few = world.stack
  if (few === undefined) return undefined
  const accounts = settings.quick ? QUICK_ACCOUNTS : MANY_ACCOUNTS
  const startMs = performance.now()
  const { providerPort, cores, runner } = world
  const many = await startStack({ providerPort, accounts, keysPerAccount: 1, proxyOnly: false })
  stops.push(() => many.stop())
  const startSeconds = (performance.now() - startMs) / 1_000
  pinStack(many, cores)
  runner.add(many)
  const run = smallLoad(world)
  // The first request of every key has control look it up.
  await run(many, accounts, { requests: accounts, seconds: WARM_UP_SECONDS_MAX })
  await run(few, FEW_ACCOUNTS, { requests: accounts / 10, seconds: WARM_UP_SECONDS_MAX })
  const rounds: AccountsResult['rounds'] = []
  for (let round = 0; round < settings.rounds; round++) {
    const { seconds } = settings
    const keysFrom = Math.floor((accounts * round) / settings.rounds)
    rounds.push({
      few: await run(few, FEW_ACCOUNTS, { seconds }),
      many: await run(many, accounts, { seconds }, keysFrom),
    })
  }
  return { result: { few: FEW_ACCOUNTS, many: accounts, startSeconds, rounds }, stack: many }
}

type Bounds = { seconds: number; requests?: number }

function smallLoad({ runner }: World) {
  const kind = caseNamed(SMALL)
  return (stack: Stack, keys: number, bounds: Bounds, keysFrom = 0): Promise<Sample> => {
    const one = sluiceMeasured(stack, stack.proxy)
    const target = { ...one.target, keysFile: stack.keysFile(keys), keysFrom }
    return runner.run(one, { ...loadOptions(kind, target, true, modelOf(kind, one)), ...bounds })
  }
}
