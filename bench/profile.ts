// Records CPU profiles of the worker and writes them into the report: node dist/bench/profile.js [--restart] [--quick]
// The first recording stays as "before"; --restart compares with the last recording from now on.
import { parseArgs } from 'node:util'
import { recordProfiles } from './parts/profile.ts'
import { resultFiles, writeProfiles, writeReport } from './report.ts'
import { readSettings } from './settings.ts'
import { untilStopped } from './stopping.ts'
import { startWorld } from './targets/world.ts'

const { values } = parseArgs({
  options: { restart: { type: 'boolean', default: false }, quick: { type: 'boolean', default: false } },
})
const settings = readSettings(['--targets', 'sluice', ...(values.quick ? ['--quick'] : [])], {})
if (settings !== undefined) {
  const files = resultFiles(!values.quick)
  const recorded = await untilStopped(async (stops) => {
    const world = await startWorld(settings, stops)
    return recordProfiles(settings, world, files.recordings)
  })
  if (recorded !== null) {
    writeProfiles(files, recorded.profiles, values.restart)
    writeReport(files)
    for (const { case: name, rows } of recorded.profiles.cases) {
      process.stdout.write(`${name}\n`)
      for (const row of rows.slice(0, 20)) {
        process.stdout.write(`${(row.share * 100).toFixed(1).padStart(6)} %  ${row.name} ${row.file}\n`)
      }
    }
  }
}
