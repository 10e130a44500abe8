import { spawnSync } from 'node:child_process'
import { appendFileSync, chmodSync, chownSync, copyFileSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { type PostgresServer, startPostgres } from '../../../control/launch/postgres.ts'
import { limits } from '../limits.ts'
import { TEST_POSTGRES_SETTINGS } from '../services.ts'
import { makeTempDir, removeTempDir } from '../tempDir.ts'
import { until } from '../until.ts'

const DATABASE = 'sluice'

/** A PostgreSQL whose write-ahead log is archived, so that it can be brought back as it was at any moment since its backup. */
export class ArchivedPostgres {
  private readonly dir: string = makeTempDir('pitr')
  private readonly wal: string
  private readonly settings: Readonly<Record<string, string>>
  private readonly base: string = join(this.dir, 'restored')
  private server: PostgresServer | undefined
  private restored: PostgresServer | undefined

  /**
   * @param wal the folder of the archive; one of its own when it is not given
   * @param settings of the server, which may have another command of the archive
   */
  constructor(wal?: string, settings: Readonly<Record<string, string>> = {}) {
    this.wal = wal ?? join(this.dir, 'wal')
    this.settings = { archive_mode: 'on', archive_command: `cp %p ${this.wal}/%f`, ...settings }
  }

  /** @returns the address of an empty database */
  async start(): Promise<string> {
    mkdirSync(this.wal, { recursive: true })
    // The server runs as another user.
    chmodSync(this.wal, 0o777)
    this.server = await startPostgres({
      dir: join(this.dir, 'cluster'),
      logFile: join(this.dir, 'postgres.log'),
      settings: { ...TEST_POSTGRES_SETTINGS, ...this.settings },
      limits,
    })
    return this.server.provideDatabase(DATABASE)
  }

  /** Copies the cluster while it runs. */
  async backUp(): Promise<void> {
    const { dir, passwordFile } = this.running()
    await this.asAdmin(async (client) => {
      await client.query(`SELECT pg_backup_start('drill', true)`)
      if (spawnSync('cp', ['-a', dir, this.base]).status !== 0) throw new Error(`${dir} could not be copied`)
      const { rows } = await client.query<{ labelfile: string }>('SELECT labelfile FROM pg_backup_stop()')
      this.writeOwn('backup_label', rows[0]?.labelfile ?? '')
    })
    rmSync(join(this.base, 'postmaster.pid'), { force: true })
    copyFileSync(passwordFile, `${this.base}.password`)
  }

  /** Names this moment. */
  async remember(moment: string): Promise<void> {
    await this.asAdmin((client) => client.query('SELECT pg_create_restore_point($1)', [moment]))
  }

  /** Loses the cluster once all that it wrote is archived. */
  async lose(): Promise<void> {
    await this.asAdmin(async (client) => {
      const { rows } = await client.query<{ name: string }>('SELECT pg_walfile_name(pg_switch_wal()) AS name')
      await until('the log is archived', async () => {
        const found = await client.query<{ name: string }>('SELECT last_archived_wal AS name FROM pg_stat_archiver')
        return (found.rows[0]?.name ?? '') >= (rows[0]?.name ?? '~')
      })
    })
    await this.running().process.kill9()
  }

  /** Brings the backup up as the cluster was at a moment. @returns the address of the database */
  async restore(moment: string): Promise<string> {
    this.writeOwn('recovery.signal', '')
    const settings = {
      restore_command: `cp ${this.wal}/%f %p`,
      recovery_target_name: moment,
      recovery_target_action: 'promote',
    }
    for (const [name, value] of Object.entries(settings)) {
      appendFileSync(join(this.base, 'postgresql.auto.conf'), `${name} = '${value}'\n`)
    }
    this.restored = await startPostgres({
      dir: this.base,
      logFile: join(this.dir, 'restored.log'),
      settings: TEST_POSTGRES_SETTINGS,
      limits,
    })
    const url = this.restored.url(DATABASE)
    await until('the restored server takes writes', async () => {
      const client = new pg.Client({ connectionString: url })
      await client.connect()
      const found = await client.query<{ is_behind: boolean }>('SELECT pg_is_in_recovery() AS is_behind')
      await client.end()
      return found.rows[0]?.is_behind === false
    })
    return url
  }

  async stop(): Promise<void> {
    for (const server of [this.server, this.restored]) {
      if (server === undefined) continue
      await server.process.stop()
      removeTempDir(server.dir, server.passwordFile)
    }
    removeTempDir(this.dir)
  }

  /** Writes a file of the copy, as one of who the copy belongs to. */
  private writeOwn(name: string, text: string): void {
    const path = join(this.base, name)
    writeFileSync(path, text)
    const { uid, gid } = statSync(this.base)
    chownSync(path, uid, gid)
  }

  private running(): PostgresServer {
    if (this.server === undefined) throw new Error('the server was not started')
    return this.server
  }

  private async asAdmin<T>(work: (client: pg.Client) => Promise<T>): Promise<T> {
    const client = new pg.Client({ connectionString: this.running().url('postgres') })
    await client.connect()
    try {
      return await work(client)
    } finally {
      await client.end()
    }
  }
}
