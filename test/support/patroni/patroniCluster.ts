import { chownSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { createDatabase } from '../../../control/launch/postgres.ts'
import { postgresUser } from '../../../control/launch/postgresFiles.ts'
import { serverEnvironment } from '../../../control/launch/process/childEnvironment.ts'
import { freePort } from '../../../control/launch/process/freePort.ts'
import { ManagedProcess } from '../../../control/launch/process/managedProcess.ts'
import { limits } from '../limits.ts'
import { present } from '../present.ts'
import type { TestServer } from '../services.ts'
import { makeTempDir, removeTempDir } from '../tempDir.ts'
import { until } from '../until.ts'
import { haproxyFile, type Node, nodeFile } from './patroniFiles.ts'

const DATABASE = 'sluice'
const START_TIMEOUT_MS = 90_000

/** A machine of the cluster: Patroni and the PostgreSQL that it keeps. */
interface Machine {
  readonly node: Node
  readonly patroni: ManagedProcess
}

/** Two PostgreSQL servers under Patroni, one the synchronous standby of the other, an etcd, and HAProxy before the primary. */
export class PatroniCluster implements TestServer {
  readonly dir: string
  private readonly etcd: ManagedProcess
  private readonly haproxy: ManagedProcess
  private readonly machines: readonly Machine[]
  private readonly port: number
  private readonly statsPort: number
  private readonly password: string

  private constructor(parts: {
    dir: string
    etcd: ManagedProcess
    haproxy: ManagedProcess
    machines: readonly Machine[]
    port: number
    statsPort: number
    password: string
  }) {
    this.dir = parts.dir
    this.etcd = parts.etcd
    this.haproxy = parts.haproxy
    this.machines = parts.machines
    this.port = parts.port
    this.statsPort = parts.statsPort
    this.password = parts.password
  }

  /** @param binFolder the programs of PostgreSQL */
  static async start(binFolder: string): Promise<PatroniCluster> {
    const dir = makeTempDir('patroni')
    const runAs = postgresUser()
    const own = (path: string): string => {
      if (runAs !== undefined) chownSync(path, runAs.uid, runAs.gid)
      return path
    }
    own(dir)
    const password = 'patroni-password'
    const [etcdPort, peerPort] = [await freePort(), await freePort()]
    const [port, statsPort] = [await freePort(), await freePort()]
    const process_ = (name: string, command: string, args: readonly string[], probe: () => Promise<boolean>) =>
      new ManagedProcess({
        name,
        command,
        args,
        env: serverEnvironment(process.env),
        cwd: dir,
        runAs,
        logFile: join(dir, `${name}.log`),
        probe,
        stopSignal: 'SIGTERM',
        stopTimeoutMs: 20_000,
        limits: { ...limits, startTimeoutMs: START_TIMEOUT_MS },
      })
    const etcdUrl = `http://127.0.0.1:${etcdPort}`
    const peerUrl = `http://127.0.0.1:${peerPort}`
    const etcd = process_(
      'etcd',
      'etcd',
      [
        '--name',
        'e',
        '--data-dir',
        join(dir, 'etcd'),
        '--listen-client-urls',
        etcdUrl,
        '--advertise-client-urls',
        etcdUrl,
      ]
        .concat(['--listen-peer-urls', peerUrl, '--initial-advertise-peer-urls', peerUrl])
        .concat(['--initial-cluster', `e=${peerUrl}`]),
      () => answers(`${etcdUrl}/health`),
    )
    const machines: Machine[] = []
    for (const name of ['a', 'b']) {
      const folder = join(dir, name)
      mkdirSync(folder, { mode: 0o700 })
      own(folder)
      const node: Node = { name, folder, port: await freePort(), apiPort: await freePort() }
      const file = join(folder, 'patroni.json')
      writeFileSync(file, nodeFile(node, { etcdPort, binFolder, password }))
      own(file)
      const api = `http://127.0.0.1:${node.apiPort}/health`
      machines.push({ node, patroni: process_(`patroni-${name}`, 'patroni', [file], () => answers(api)) })
    }
    const file = join(dir, 'haproxy.cfg')
    writeFileSync(
      file,
      haproxyFile(
        machines.map(({ node }) => node),
        port,
        statsPort,
      ),
    )
    own(file)
    const haproxy = process_('haproxy', 'haproxy', ['-db', '-f', file], async () => true)
    const cluster = new PatroniCluster({ dir, etcd, haproxy, machines, port, statsPort, password })
    try {
      await cluster.begin()
      return cluster
    } catch (error) {
      await cluster.stop()
      throw error
    }
  }

  /** Where HAProxy leads to the primary. */
  get url(): string {
    return this.urlOf(DATABASE, this.port)
  }

  readonly pid = (): number | undefined => this.etcd.pid

  /** The name of the primary by Patroni; undefined while there is none. */
  async primary(): Promise<string | undefined> {
    for (const { node } of this.machines)
      if (await answers(`http://127.0.0.1:${node.apiPort}/primary`)) return node.name
    return undefined
  }

  /** The server that HAProxy leads to; undefined for none, and for several, as before it has asked. */
  async reached(): Promise<string | undefined> {
    try {
      const table = await (await fetch(`http://127.0.0.1:${this.statsPort}/;csv`)).text()
      const [head = [], ...rows] = table.split('\n').map((line) => line.replace(/^# /, '').split(','))
      const [name, status] = [head.indexOf('svname'), head.indexOf('status')]
      const up = this.machines.filter(({ node }) =>
        rows.some((row) => row[0] === 'primary' && row[name] === node.name && row[status] === 'UP'),
      )
      return up.length === 1 ? up[0]?.node.name : undefined
    } catch {
      return undefined
    }
  }

  /** Whether the other server is the synchronous standby, so that no commit is only on one of both. */
  async hasStandby(): Promise<boolean> {
    for (const { node } of this.machines) {
      if (await answers(`http://127.0.0.1:${node.apiPort}/synchronous`)) return true
    }
    return false
  }

  /** Loses the machine of the primary: Patroni and PostgreSQL end at once. @returns its name */
  async kill9(): Promise<void> {
    const name = await this.primary()
    const { node, patroni } = present(this.machines.find((machine) => machine.node.name === name))
    const client = new pg.Client({ connectionString: this.urlOf('postgres', node.port) })
    await client.connect()
    const { rows } = await client.query<{ pid: string }>(
      `SELECT split_part(pg_read_file('postmaster.pid'), E'\\n', 1) AS pid`,
    )
    client.on('error', () => undefined)
    await patroni.kill9()
    process.kill(Number(present(rows[0]).pid), 'SIGKILL')
    await client.end().catch(() => undefined)
  }

  /** Starts again what was lost: it joins as the standby. */
  async restart(): Promise<void> {
    for (const { patroni } of this.machines) if (!patroni.running) await patroni.start()
  }

  async stop(): Promise<void> {
    for (const { patroni } of this.machines) await patroni.stop()
    await Promise.all([this.haproxy.stop(), this.etcd.stop()])
    removeTempDir(this.dir)
  }

  private async begin(): Promise<void> {
    await this.etcd.start()
    // The first makes the cluster, and the second copies it.
    for (const { patroni } of this.machines) {
      await patroni.start()
      await until('there is a primary', async () => (await this.primary()) !== undefined, START_TIMEOUT_MS)
    }
    await until('the standby is synchronous', () => this.hasStandby(), START_TIMEOUT_MS)
    await this.haproxy.start()
    await until(
      'HAProxy leads to the primary',
      async () => (await this.reached()) === (await this.primary()),
      START_TIMEOUT_MS,
    )
    await createDatabase(this.urlOf('postgres', this.port), DATABASE)
  }

  private urlOf(database: string, port: number): string {
    return `postgres://postgres:${this.password}@127.0.0.1:${port}/${database}`
  }
}

async function answers(url: string): Promise<boolean> {
  try {
    const response = await fetch(url)
    await response.arrayBuffer()
    return response.status === 200
  } catch {
    return false
  }
}
