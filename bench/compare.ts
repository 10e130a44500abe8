// Compares two builds by turns on the same machine: `node dist/bench/compare.js --other DIR`, where DIR is a checkout in
// which `make build` has run.
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { compiled } from '../control/launch/paths.ts'
import { loadOptions } from './bodies.ts'
import { checkBooks } from './books.ts'
import { type BenchCase, caseNamed, SMALL, STREAM } from './cases.ts'
import { PaidTraffic } from './compare/paidTraffic.ts'
import { measureByTurns, type Pair, resultLine, startsLine } from './compare/turns.ts'
import type { LoadOptions } from './load/options.ts'
import { runSettlement } from './parts/settlement.ts'
import type { Measured } from './runner.ts'
import { untilStopped } from './stopping.ts'
import { type Stack, startStack } from './targets/stack.ts'
import { FEW_ACCOUNTS, modelOf, pinStack, sluiceMeasured, startWorld, type World } from './targets/world.ts'

/** Requests that are paid for by x402, from the quote to the refund. */
const PAYMENT = 'payment'
/** Ended requests on their way into the book. */
const SETTLEMENT = 'settlement'
const HELP = `node dist/bench/compare.js --other DIR [--cases ${SMALL},${STREAM},${PAYMENT},${SETTLEMENT}] [--pairs 40] [--seconds 0.5] [--starts 1] [--warm-up 12] [--set NAME=VALUE]
Of ${PAYMENT} and ${SETTLEMENT}, whose measurements take seconds, a quarter of the pairs is measured.
Two processes of one build differ by up to 5 %: --starts starts both builds anew so many times.
Their code is compiled for some 30,000 requests: --warm-up seconds of a case come before its pairs.
--set gives the proxy of this build an environment variable, such as those of the traces or of the access log; it can be repeated, and
--other can be this build itself then.`
const SLOW_PAIRS_SHARE = 0.25
const PAYMENTS = 64
const RECEIPTS = 20_000

/** A build that a stack runs. */
interface Side {
  readonly stack: Stack
  /** Undefined when no payments are measured. */
  readonly paid: PaidTraffic | undefined
}

interface Plan {
  readonly kinds: readonly BenchCase[]
  readonly hasPayments: boolean
  readonly pairCount: number
  readonly seconds: number
  readonly warmUpSeconds: number
  /** Environment variables of the proxy of this build. */
  readonly proxyEnv: NodeJS.ProcessEnv
}

function loadOf(stack: Stack, kind: BenchCase, seconds: number): [one: Measured, options: LoadOptions] {
  const one = sluiceMeasured(stack, stack.proxy)
  return [one, { ...loadOptions(kind, one.target, true, modelOf(kind, one)), seconds }]
}

/** CPU time of one stack per request of a case, in microseconds, of its proxy and of Redis. */
async function microsPerRequest(world: World, stack: Stack, kind: BenchCase, seconds: number): Promise<number> {
  const sample = await world.runner.run(...loadOf(stack, kind, seconds))
  return (sample.cpuMicros + sample.redisMicros) / sample.load.requests
}

/** Starts a stack of a build on its core, with its own chain where it is to take payments. */
async function startSide(
  start: typeof startStack,
  world: World,
  { hasPayments, proxyEnv }: Pick<Plan, 'hasPayments' | 'proxyEnv'>,
  stops: (() => Promise<void>)[],
): Promise<Side> {
  const paid = hasPayments ? await PaidTraffic.start(stops) : undefined
  paid?.enter()
  const options = { ...world.ports, accounts: FEW_ACCOUNTS, keysPerAccount: 1, proxyOnly: false, proxyEnv }
  const stack = await start(options, stops)
  pinStack(stack, world.cores)
  world.runner.add(stack)
  return { stack, paid }
}

/** The pairs of one case, by the starts in which they were measured. */
type PairsByCase = Map<string, Pair[][]>

/** Starts both builds, each first in every second start, measures loads and payments of them, and checks both books. */
async function compareStacks(
  plan: Plan,
  otherStart: typeof startStack,
  startNumber: number,
  found: PairsByCase,
  stops: (() => Promise<void>)[],
): Promise<void> {
  const { kinds, hasPayments, pairCount, seconds, warmUpSeconds } = plan
  const settings = { seconds, rounds: 1, quick: false, targets: [], cases: kinds, parts: [], isWhole: false }
  const world = await startWorld({ ...settings, output: undefined }, stops)
  const startMine = () => startSide(startStack, world, plan, stops)
  const startOther = () => startSide(otherStart, world, { hasPayments, proxyEnv: {} }, stops)
  const isMineFirst = startNumber % 2 === 0
  const first = await (isMineFirst ? startMine : startOther)()
  const second = await (isMineFirst ? startOther : startMine)()
  const [mine, other] = isMineFirst ? [first, second] : [second, first]
  for (const kind of kinds) {
    for (const { stack } of [mine, other]) await world.runner.meetKeys(...loadOf(stack, kind, warmUpSeconds))
    const measure = (side: Side) => () => microsPerRequest(world, side.stack, kind, seconds)
    add(found, kind.name, await measureByTurns(pairCount, measure(mine), measure(other)))
  }
  if (hasPayments) {
    const { publicModel } = caseNamed(SMALL)
    const measure = (side: Side) => () => paidMicros(side, publicModel)
    for (const side of [mine, other]) {
      await side.paid?.taken(side.stack, publicModel)
      await paidMicros(side, publicModel)
    }
    add(found, PAYMENT, await measureByTurns(slowPairs(pairCount), measure(mine), measure(other)))
  }
  for (const [name, { stack, paid }] of [['this build', mine] as const, ['the other build', other] as const]) {
    paid?.enter()
    await checkBooks(stack, name, world.runner.requestsTo(stack) + (paid?.served ?? 0))
  }
}

async function paidMicros({ stack, paid }: Side, model: string): Promise<number> {
  if (paid === undefined) throw new Error('this stack takes no payments')
  return paid.microsPerRequest(stack, model, PAYMENTS)
}

function slowPairs(pairCount: number): number {
  return Math.ceil(pairCount * SLOW_PAIRS_SHARE)
}

function add(found: PairsByCase, name: string, pairs: Pair[]): void {
  found.set(name, [...(found.get(name) ?? []), pairs])
  print(resultLine(name, pairs))
}

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}

function variablesIn(pairs: readonly string[]): NodeJS.ProcessEnv {
  return Object.fromEntries(pairs.map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]))
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      other: { type: 'string' },
      cases: { type: 'string', default: [SMALL, STREAM, PAYMENT, SETTLEMENT].join() },
      pairs: { type: 'string', default: '40' },
      seconds: { type: 'string', default: '0.5' },
      starts: { type: 'string', default: '1' },
      'warm-up': { type: 'string', default: '12' },
      set: { type: 'string', multiple: true, default: [] },
    },
  })
  if (values.other === undefined) throw new Error(HELP)
  const otherDist = join(resolve(values.other), 'dist')
  const names = values.cases.split(',')
  const kinds = names.filter((name) => name !== PAYMENT && name !== SETTLEMENT).map(caseNamed)
  const [pairCount, seconds] = [Number(values.pairs), Number(values.seconds)]
  const hasPayments = names.includes(PAYMENT)
  if (kinds.length > 0 || hasPayments) {
    const url = pathToFileURL(join(otherDist, 'bench/targets/stack.js')).href
    const otherBuild = (await import(url)) as { startStack: typeof startStack }
    const plan = {
      kinds,
      hasPayments,
      pairCount,
      seconds,
      warmUpSeconds: Number(values['warm-up']),
      proxyEnv: variablesIn(values.set),
    }
    const found: PairsByCase = new Map()
    for (let start = 0; start < Number(values.starts); start++) {
      await untilStopped((stops) => compareStacks(plan, otherBuild.startStack, start, found, stops))
    }
    for (const [name, starts] of found) if (starts.length > 1) print(startsLine(name, starts))
  }
  if (names.includes(SETTLEMENT)) {
    const measure = (program: string) => async () => {
      const { cpuMicrosPerReceipt, postgresMicrosPerReceipt = 0 } = await runSettlement(program, RECEIPTS)
      return cpuMicrosPerReceipt + postgresMicrosPerReceipt
    }
    const [mine, other] = [compiled('bench/settlement.js'), join(otherDist, 'bench/settlement.js')]
    print(resultLine(SETTLEMENT, await measureByTurns(slowPairs(pairCount), measure(mine), measure(other))))
  }
}

await main()
