// A root of Debian 13 below .sluice/, where programs run that need a newer glibc than this machine's.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { provide } from './system-packages.mjs'

const SUITE = 'trixie'
const MIRROR = 'http://deb.debian.org/debian'
/** Packages that tests need beside those that every Debian has. */
const PACKAGES = ['ca-certificates', 'redis-server', 'procps', 'git', 'make', 'openssl']
const root = fileURLToPath(new URL(`../.sluice/roots/${SUITE}`, import.meta.url))

/**
 * @returns the folder of the root, which is made when it is missing
 * @throws Error that says what is missing to make it
 */
export function debianRoot() {
  if (existsSync(root)) return root
  const program = provide('mmdebstrap')
  provide('bubblewrap')
  const partial = `${root}.partial`
  mkdirSync(dirname(root), { recursive: true })
  rmSync(partial, { recursive: true, force: true })
  const flags = ['--quiet', '--variant=essential', `--include=${PACKAGES.join(',')}`, '--aptopt=Acquire::Retries "3"']
  const source = `deb ${MIRROR} ${SUITE} main`
  console.error(`Making a root of Debian 13 in ${root} ...`)
  const { status } = spawnSync(program, [...flags, SUITE, partial, source], { stdio: ['ignore', 2, 2] })
  if (status !== 0) throw new Error(`mmdebstrap could not make a root of Debian 13 from ${MIRROR}`)
  renameSync(partial, root)
  return root
}

/**
 * @param folder of the project, which the command sees at the same path, as it does /tmp
 * @returns the command that runs another in a root
 */
export function inRoot(rootFolder, folder, command) {
  const binds = ['/tmp', folder].flatMap((path) => ['--bind', path, path])
  const system = ['--dev-bind', '/dev', '/dev', '--proc', '/proc', '--ro-bind', '/sys', '/sys']
  const names = ['/etc/resolv.conf', '/etc/hosts'].flatMap((path) => ['--ro-bind-try', path, path])
  const known = ['--bind', rootFolder, '/', ...system, ...names, ...binds, '--chdir', folder]
  return [provide('bubblewrap'), ...known, '--die-with-parent', ...command]
}
