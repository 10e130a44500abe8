import { checkBooks, postgresVersion } from './books.ts'
import { measureAccounts } from './parts/accounts.ts'
import { measureInstallation } from './parts/installation.ts'
import { measureLoadTests } from './parts/loadTest.ts'
import { measureMemory } from './parts/memory.ts'
import { recordProfiles } from './parts/profile.ts'
import { measureRounds, progressLine } from './parts/rounds.ts'
import { measureSettlement } from './parts/settlement.ts'
import { resultFiles, writeProfiles, writeReport, writeResults } from './report.ts'
import type { BenchResults } from './results.ts'
import { describeMachine } from './results.ts'
import type { PartName, Settings } from './settings.ts'
import { readSettings } from './settings.ts'
import { untilStopped } from './stopping.ts'
import type { World } from './targets/world.ts'
import { startWorld } from './targets/world.ts'

const startMs = performance.now()

function say(line: string): void {
  const seconds = ((performance.now() - startMs) / 1_000).toFixed(0)
  process.stdout.write(`${seconds.padStart(4)} s  ${line}\n`)
}

/** Measures everything that the settings name; `stops` receives the functions that end the started processes. */
async function measure(settings: Settings, stops: (() => Promise<void>)[]): Promise<BenchResults> {
  const world = await startWorld(settings, stops)
  say(`started: ${settings.targets.join(', ')}`)
  const results: BenchResults = {
    at: new Date().toISOString(),
    machine: describeMachine(await postgresVersion(world.stack), world.versions),
    seconds: settings.seconds,
    rounds: settings.rounds,
    quick: settings.quick,
    pinned: world.cores,
    background: 'none',
    measurements: [],
    accounts: null,
    installation: null,
    memory: null,
    settlement: null,
    allocations: [],
    books: [],
  }
  results.measurements = await measureRounds(settings, world, (measurement) => say(progressLine(measurement)))
  await measureParts(settings, world, results, stops)
  results.background = world.runner.background
  return results
}

async function measureParts(
  settings: Settings,
  world: World,
  results: BenchResults,
  stops: (() => Promise<void>)[],
): Promise<void> {
  const wants = (part: PartName) => {
    if (!settings.parts.includes(part)) return false
    say(part)
    return true
  }
  const { runner, stack } = world
  if (wants('load-test')) results.loadTests = await measureLoadTests(settings, world)
  if (wants('accounts')) {
    const { result, books } = await measureAccounts(settings, world, stops, say)
    results.accounts = result
    results.books.push(...books)
  }
  if (wants('installation')) {
    const { result, books } = await measureInstallation(settings, world, stops, say)
    results.installation = result
    results.books.push(...books)
  }
  if (wants('memory')) results.memory = await measureMemory(settings, world)
  if (wants('profile')) {
    const files = resultFiles(settings.isWhole, settings.output)
    const recorded = await recordProfiles(settings, world, files.recordings)
    if (recorded !== null) {
      results.allocations = recorded.allocations
      writeProfiles(files, recorded.profiles, false)
    }
  }
  if (stack !== undefined) {
    say('the books')
    results.books.unshift(await checkBooks(stack, 'All other loads', runner.requestsTo(stack)))
  }
}

async function main(): Promise<void> {
  const settings = readSettings(process.argv.slice(2), process.env)
  if (settings === undefined) return
  const results = await untilStopped((stops) => measure(settings, stops))
  // With its own servers, after everything else has stopped.
  if (settings.parts.includes('settlement')) {
    say('settlement')
    results.settlement = await measureSettlement(settings)
  }
  const files = resultFiles(settings.isWhole, settings.output)
  writeResults(files, results)
  const text = writeReport(files)
  process.stdout.write(`\n${text}\n`)
  say(`results and report: ${files.reportFolder}`)
}

await main()
