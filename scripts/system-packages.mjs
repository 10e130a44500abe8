// The system packages the project needs, and their installation. This is the one place that names them.
// Usage: node scripts/system-packages.mjs redis nginx
import { spawnSync } from 'node:child_process'

const REDIS_MAJOR = 7

/** Per need: the programs that serve it, and what each package manager calls the package. */
const PACKAGES = {
  redis: {
    programs: ['redis-server', 'valkey-server'],
    satisfied: (program) => redisMajor(program) >= REDIS_MAJOR,
    wanted: `Redis ${REDIS_MAJOR} or newer, or Valkey`,
    packages: { 'apt-get': 'redis-server', brew: 'redis', dnf: 'valkey', apk: 'redis', pacman: 'valkey' },
  },
  nginx: {
    programs: ['nginx', '/usr/sbin/nginx'],
    satisfied: (program) => spawnSync(program, ['-v']).status === 0,
    wanted: 'nginx',
    packages: { 'apt-get': 'nginx', brew: 'nginx', dnf: 'nginx', apk: 'nginx', pacman: 'nginx' },
  },
  chromium: {
    programs: ['chromium', '/usr/bin/chromium', 'chromium-browser', 'google-chrome'],
    satisfied: (program) => spawnSync(program, ['--version']).status === 0,
    wanted: 'Chromium',
    packages: {
      'apt-get': 'chromium',
      brew: 'chromium',
      dnf: 'chromium-headless',
      apk: 'chromium',
      pacman: 'chromium',
    },
  },
  haproxy: {
    programs: ['haproxy', '/usr/sbin/haproxy'],
    satisfied: (program) => spawnSync(program, ['-v']).status === 0,
    wanted: 'haproxy',
    packages: { 'apt-get': 'haproxy', brew: 'haproxy', dnf: 'haproxy', apk: 'haproxy', pacman: 'haproxy' },
  },
  caddy: {
    programs: ['caddy'],
    satisfied: (program) => spawnSync(program, ['version']).status === 0,
    wanted: 'Caddy',
    packages: { 'apt-get': 'caddy', brew: 'caddy', dnf: 'caddy', apk: 'caddy', pacman: 'caddy' },
  },
  patroni: {
    programs: ['patroni'],
    satisfied: (program) => spawnSync(program, ['--version']).status === 0,
    wanted: 'Patroni',
    packages: { 'apt-get': 'patroni', dnf: 'patroni' },
  },
  etcd: {
    programs: ['etcd'],
    satisfied: (program) => spawnSync(program, ['--version']).status === 0,
    wanted: 'etcd',
    packages: { 'apt-get': 'etcd-server', dnf: 'etcd' },
  },
  postgresql: {
    programs: ['pg_basebackup'],
    satisfied: (program) => spawnSync(program, ['--version']).status === 0,
    wanted: 'PostgreSQL with its programs for standbys',
    packages: { 'apt-get': 'postgresql', dnf: 'postgresql-server' },
  },
  mmdebstrap: {
    programs: ['mmdebstrap'],
    satisfied: (program) => spawnSync(program, ['--version']).status === 0,
    wanted: 'mmdebstrap',
    packages: { 'apt-get': 'mmdebstrap', pacman: 'mmdebstrap' },
  },
  bubblewrap: {
    programs: ['bwrap'],
    satisfied: (program) => spawnSync(program, ['--version']).status === 0,
    wanted: 'bubblewrap',
    packages: { 'apt-get': 'bubblewrap', dnf: 'bubblewrap', apk: 'bubblewrap', pacman: 'bubblewrap' },
  },
}

const INSTALL = {
  'apt-get': ['install', '-y', '--no-install-recommends'],
  brew: ['install'],
  dnf: ['install', '-y'],
  apk: ['add'],
  pacman: ['-S', '--noconfirm', '--needed'],
}

/** The major version that a redis-server or valkey-server states; Valkey began at 7.2, so it always serves. */
function redisMajor(program) {
  const done = spawnSync(program, ['--version'], { encoding: 'utf8' })
  return done.status === 0 ? Number(/v=(\d+)\./.exec(done.stdout)?.[1] ?? 0) : 0
}

/** The program that serves a need, or undefined when none on this machine does. */
export function findProgram(need) {
  const { programs, satisfied } = PACKAGES[need]
  return programs.find((program) => satisfied(program))
}

function has(program) {
  return spawnSync('sh', ['-c', `command -v ${program}`]).status === 0
}

/** The words before a package manager's command, or undefined when this user may not install. */
function privilege(manager) {
  if (manager === 'brew' || process.getuid?.() === 0) return []
  return spawnSync('sudo', ['-n', 'true'], { stdio: 'ignore' }).status === 0 ? ['sudo', '-n'] : undefined
}

function run(command) {
  console.error(`installing: ${command.join(' ')}`)
  // Progress goes to stderr; stdout may be a program's.
  return spawnSync(command[0], command.slice(1), {
    stdio: ['ignore', 2, 2],
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
  }).status
}

/**
 * Finds the program of a need, installing its package when it is missing.
 * @returns the program
 * @throws Error that says what to install by hand
 */
export function provide(need) {
  const found = findProgram(need)
  if (found !== undefined) return found
  const { wanted, packages } = PACKAGES[need]
  const manager = Object.keys(INSTALL).find(has)
  if (manager === undefined || packages[manager] === undefined)
    throw new Error(`${wanted} is missing; install it and run this again`)
  const install = [manager, ...INSTALL[manager], packages[manager]]
  const before = privilege(manager)
  if (before === undefined) throw new Error(`${wanted} is missing; install it with: sudo ${install.join(' ')}`)
  if (run([...before, ...install]) !== 0 && manager === 'apt-get') {
    // A fresh machine has no package lists yet.
    run([...before, 'apt-get', 'update'])
    run([...before, ...install])
  }
  const installed = findProgram(need)
  if (installed === undefined) throw new Error(`${wanted} could not be installed; tried: ${install.join(' ')}`)
  return installed
}

if (process.argv[1]?.endsWith('system-packages.mjs')) {
  try {
    for (const need of process.argv.slice(2)) {
      if (!Object.hasOwn(PACKAGES, need)) throw new Error(`unknown need: ${need}; known: ${Object.keys(PACKAGES)}`)
      console.log(provide(need))
    }
  } catch (error) {
    console.error(error.message)
    process.exit(1)
  }
}
