import { existsSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { projectRoot } from '../control/launch/paths.ts'
import type { ProfileFile, Profiles } from './profiles.ts'
import { keepProfiles } from './profiles.ts'
import { reportPicture, reportText } from './report/report.ts'
import type { BenchResults } from './results.ts'

const BENCH = join(projectRoot, 'bench')
const PICTURE = 'report.svg'

/** Where the results of a run are kept. */
export interface ResultFiles {
  readonly results: string
  readonly profiles: string
  /** Gets REPORT.md and its picture. */
  readonly reportFolder: string
  /** Gets recordings for the developer tools. */
  readonly recordings: string
}

/**
 * The files of a whole run, which are part of the project, or those of a short or partial run, which are not.
 * @param output a folder for all of them instead of the usual places
 */
export function resultFiles(isWhole: boolean, output?: string): ResultFiles {
  const folder = output ?? join(BENCH, isWhole ? 'results' : 'results/partial')
  mkdirSync(folder, { recursive: true })
  return {
    results: join(folder, 'last.json'),
    profiles: join(folder, 'profile.json'),
    reportFolder: isWhole && output === undefined ? BENCH : folder,
    recordings: folder,
  }
}

/** Keeps the results of a run. */
export function writeResults(files: ResultFiles, results: BenchResults): void {
  writeFileSync(files.results, `${JSON.stringify(results, null, 1)}\n`)
}

/**
 * Stores profiles next to the earlier ones.
 * @param restart compares with the last ones from now on
 */
export function writeProfiles(files: ResultFiles, profiles: Profiles, restart: boolean): void {
  const kept = keepProfiles(readJson<ProfileFile>(files.profiles), profiles, restart)
  writeFileSync(files.profiles, `${JSON.stringify(kept, null, 1)}\n`)
}

/**
 * Writes the report and its picture from the stored results.
 * @returns the report, or undefined without stored results
 */
export function writeReport(files: ResultFiles): string | undefined {
  const results = readJson<BenchResults>(files.results)
  if (results === undefined) return undefined
  const profiles = readJson<ProfileFile>(files.profiles)
  const notes = readFileSync(join(BENCH, 'NOTES.md'), 'utf8')
  const text = reportText({ results, profiles, notes, picture: PICTURE })
  writeFileSync(join(files.reportFolder, 'REPORT.md'), text)
  writeFileSync(join(files.reportFolder, PICTURE), reportPicture(results))
  return text
}

function readJson<Content>(file: string): Content | undefined {
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Content) : undefined
}

// Run directly, it rewrites the report from the results of the last run.
const started = process.argv[1]
if (started !== undefined && realpathSync(started) === fileURLToPath(import.meta.url)) {
  if (writeReport(resultFiles(true)) === undefined) throw new Error('there are no results; make bench measures them')
}
