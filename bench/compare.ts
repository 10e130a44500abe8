// Compares two builds by turns on the same machine: `node dist/bench/compare.js --other DIR`, where DIR is a checkout in
// which `make build` has run.
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { loadOptions } from './bodies.ts'
import { checkBooks } from './books.ts'
import { type BenchCase, caseNamed, SMALL, STREAM } from './cases.ts'
import type { LoadOptions } from './load/options.ts'
import type { Measured } from './runner.ts'
import { untilStopped } from './stopping.ts'
import { type Stack, startStack } from './targets/stack.ts'
import { FEW_ACCOUNTS, modelOf, pinStack, sluiceMeasured, startWorld, type World } from './targets/world.ts'

const HELP = 'node dist/bench/compare.js --other DIR [--cases small,stream-100] [--pairs 40] [--seconds 0.5]'
const WARM_UP_SECONDS = 2

interface Pair {
  readonly mine: number
  readonly other: number
}

function loadOf(stack: Stack, kind: BenchCase, seconds: number): [one: Measured, options: LoadOptions] {
  const one = sluiceMeasured(stack, stack.proxy)
  return [one, { ...loadOptions(kind, one.target, true, modelOf(kind, one)), seconds }]
}

/** What one stack spends on a request of a case, in microseconds of CPU of its proxy and of Redis. */
async function microsPerRequest(world: World, stack: Stack, kind: BenchCase, seconds: number): Promise<number> {
  const sample = await world.runner.run(...loadOf(stack, kind, seconds))
  return (sample.cpuMicros + sample.redisMicros) / sample.load.requests
}

/** The middle value; the lower one of two. */
function quantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.floor((sorted.length - 1) * part)] ?? Number.NaN
}

function resultLine(name: string, pairs: readonly Pair[]): string {
  const ratios = pairs.map(({ mine, other }) => mine / other)
  const shown = [0.25, 0.5, 0.75].map((part) => quantile(ratios, part).toFixed(3)).join(', ')
  const [mine, other] = [pairs.map((pair) => pair.mine), pairs.map((pair) => pair.other)]
  const micros = `${quantile(mine, 0.5).toFixed(1)} us against ${quantile(other, 0.5).toFixed(1)} us`
  return `${name.padEnd(15)} ${micros}; ratios of ${pairs.length} pairs, quartiles: ${shown}`
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      other: { type: 'string' },
      cases: { type: 'string', default: `${SMALL},${STREAM}` },
      pairs: { type: 'string', default: '40' },
      seconds: { type: 'string', default: '0.5' },
    },
  })
  if (values.other === undefined) throw new Error(HELP)
  const url = pathToFileURL(join(resolve(values.other), 'dist/bench/targets/stack.js')).href
  const otherBuild = (await import(url)) as { startStack: typeof startStack }
  const kinds = values.cases.split(',').map(caseNamed)
  const [pairCount, seconds] = [Number(values.pairs), Number(values.seconds)]
  const settings = { seconds, rounds: 1, quick: false, targets: [], cases: kinds, parts: [], isWhole: false }
  await untilStopped(async (stops) => {
    const world = await startWorld({ ...settings, output: undefined }, stops)
    const accounts = { accounts: FEW_ACCOUNTS, keysPerAccount: 1, proxyOnly: false }
    const stacks: Stack[] = []
    for (const start of [startStack, otherBuild.startStack]) {
      const stack = await start({ providerPort: world.providerPort, ...accounts }, stops)
      pinStack(stack, world.cores)
      world.runner.add(stack)
      stacks.push(stack)
    }
    const [mine, other] = stacks
    if (mine === undefined || other === undefined) return
    for (const kind of kinds) {
      for (const stack of stacks) await world.runner.meetKeys(...loadOf(stack, kind, WARM_UP_SECONDS))
      const pairs: Pair[] = []
      // Each build goes first in every second pair, so that neither gains by what ran before it.
      for (let pair = 0; pair < pairCount; pair++) {
        const order = pair % 2 === 0 ? [mine, other] : [other, mine]
        const micros = new Map<Stack, number>()
        for (const stack of order) micros.set(stack, await microsPerRequest(world, stack, kind, seconds))
        pairs.push({ mine: micros.get(mine) ?? Number.NaN, other: micros.get(other) ?? Number.NaN })
      }
      process.stdout.write(`${resultLine(kind.name, pairs)}\n`)
    }
    for (const [name, stack] of [['this build', mine] as const, ['the other build', other] as const]) {
      await checkBooks(stack, name, world.runner.requestsTo(stack))
    }
  })
}

await main()
