import { loadOptions } from '../bodies.ts'
import { checkBooks } from '../books.ts'
import { caseNamed, SMALL } from '../cases.ts'
import type { LoadOptions } from '../load/options.ts'
import type { AccountsResult, Books } from '../results.ts'
import type { Measured } from '../runner.ts'
import type { Settings } from '../settings.ts'
import type { Stack } from '../targets/stack.ts'
import { startStack } from '../targets/stack.ts'
import type { World } from '../targets/world.ts'
import { FEW_ACCOUNTS, modelOf, pinStack, sluiceMeasured } from '../targets/world.ts'

const MANY_ACCOUNTS = 100_000
const ACTIVE_ACCOUNTS = 10_000
/** A short run divides the numbers by this. */
const QUICK_DIVISOR = 50
const WARM_UP_SECONDS_MAX = 120
const WARM_UP_REQUESTS = 10_000

/**
 * Measures small answers by turns on two fresh stacks: one with few accounts, one with many. On the second, requests are of
 * equally few accounts, and of many.
 * @param stops holds the functions that end the stacks while they run
 * @param say reports progress
 */
export async function measureAccounts(
  settings: Settings,
  world: World,
  stops: (() => Promise<void>)[],
  say: (line: string) => void,
): Promise<{ result: AccountsResult; books: Books[] }> {
  const divisor = settings.quick ? QUICK_DIVISOR : 1
  const [accounts, active] = [MANY_ACCOUNTS / divisor, ACTIVE_ACCOUNTS / divisor]
  const few = await startIdle(world, FEW_ACCOUNTS, stops)
  const startMs = performance.now()
  const many = await startIdle(world, accounts, stops)
  const startSeconds = (performance.now() - startMs) / 1_000
  say(`${accounts} accounts are ready`)
  const warmUp = { requests: Math.max(active, WARM_UP_REQUESTS / divisor), seconds: WARM_UP_SECONDS_MAX }
  const { runner } = world
  // The first request of every key causes a lookup in control.
  await runner.meetKeys(...smallLoad(few, FEW_ACCOUNTS, warmUp))
  await runner.meetKeys(...smallLoad(many, active, warmUp))
  say(`${active} of them have sent requests`)
  const { seconds } = settings
  const ofFew = () => runner.run(...smallLoad(few, FEW_ACCOUNTS, { seconds }))
  const ofActive = () => runner.run(...smallLoad(many, active, { seconds }))
  const rounds: AccountsResult['rounds'] = []
  // The first round is not counted: it leaves both gateways equally warm. After it each is first by turns, so that neither
  // gains by the order.
  for (let round = 0; round <= settings.rounds; round++) {
    const fewFirst = round % 2 === 0
    const first = await (fewFirst ? ofFew : ofActive)()
    const loaded = await runner.run(...smallLoad(many, FEW_ACCOUNTS, { seconds }))
    const last = await (fewFirst ? ofActive : ofFew)()
    if (round > 0) rounds.push({ loaded, ...(fewFirst ? { few: first, active: last } : { few: last, active: first }) })
  }
  say('the books')
  const books: Books[] = []
  for (const [stack, count] of [[few, FEW_ACCOUNTS] as const, [many, accounts] as const]) {
    books.push(await checkBooks(stack, `${count.toLocaleString('en-US')} accounts`, runner.requestsTo(stack)))
    runner.remove(stack)
  }
  for (let i = 0; i < books.length; i++) await stops.pop()?.()
  return { result: { few: FEW_ACCOUNTS, many: accounts, active, startSeconds, rounds }, books }
}

async function startIdle(world: World, accounts: number, stops: (() => Promise<void>)[]): Promise<Stack> {
  const { ports, cores, runner } = world
  const stack = await startStack({ ...ports, accounts, keysPerAccount: 1, proxyOnly: false }, stops)
  pinStack(stack, cores)
  runner.add(stack)
  return stack
}

/** Small answers of a stack's gateway to a number of its accounts in turn. */
function smallLoad(
  stack: Stack,
  accounts: number,
  bounds: { seconds: number; requests?: number },
): [one: Measured, options: LoadOptions] {
  const kind = caseNamed(SMALL)
  const one = sluiceMeasured(stack, stack.proxy)
  const target = { ...one.target, keysFile: stack.keysFile(accounts) }
  return [one, { ...loadOptions(kind, target, true, modelOf(kind, one)), ...bounds }]
}
