import { join } from 'node:path'
import { parseMonth } from '../../contract/api/time.ts'
import { listArchives } from '../book/partitions/archives.ts'
import { readManifest } from '../records/archive/archiveFile.ts'
import { archiveMonth } from '../records/archive/archiveMonth.ts'
import { checkArchive } from '../records/archive/checkArchive.ts'
import { textArray } from '../runtime/db/arrays.ts'
import { type Arguments, argument, type CommandGroup, flag, UsageError } from './command.ts'
import { type CliContext, CommandError } from './context.ts'
import { facts, table } from './table.ts'

async function archive(args: Arguments, context: CliContext): Promise<undefined> {
  const month = argument(args, 'MONTH')
  if (parseMonth(month) === undefined) throw new UsageError(`MONTH must be one such as 2027-01, not "${month}"`)
  const dir = flag(args, 'to') ?? context.archiveDir
  const [pool, redis, { limits }] = [await context.pool(), await context.redis(), context]
  const manifest = await archiveMonth({ pool, redis, dir, limits }, month)
  const { logs: _, ...facts } = manifest
  context.print(
    facts,
    `${manifest.receipts} receipts of ${month} are in ${join(dir, manifest.file)}, and not in the database`,
  )
}

async function check(args: Arguments, context: CliContext): Promise<undefined> {
  const file = argument(args, 'FILE')
  const manifest = await readManifest(file)
  const receipts = await checkArchive(await context.pool(), file, manifest)
  context.print(
    { month: manifest.month, receipts },
    `${receipts} receipts of ${manifest.month} are those of the usage logs`,
  )
}

async function archives(_args: Arguments, context: CliContext): Promise<undefined> {
  const data = (await listArchives(await context.pool())).map((kept) => ({
    month: kept.month,
    file: kept.file,
    receipts: kept.receipts,
    sha256: kept.sha256,
    archived_at: kept.archivedAt.toISOString(),
  }))
  const rows = data.map((kept) => [kept.month, String(kept.receipts), kept.file, kept.archived_at])
  context.print(
    { data },
    data.length === 0 ? 'no month is archived' : table(['MONTH', 'RECEIPTS', 'FILE', 'SINCE'], rows),
  )
}

async function attempt(args: Arguments, context: CliContext): Promise<undefined> {
  const id = argument(args, 'ID')
  const named = context.attemptIds.read(id)
  if (named.length === 0) throw new UsageError(`ID must be one that a provider was sent, such as try_..., not "${id}"`)
  const pool = await context.pool()
  const found = await pool.query<{ request_id: string; account_id: string; provider: string; status: string }>(
    'SELECT request_id, account_id, provider, status FROM receipts WHERE request_id = ANY ($1::text[])',
    [textArray(named.map(({ requestId }) => requestId))],
  )
  const [receipt] = found.rows
  if (receipt === undefined) {
    throw new CommandError(
      `there is no receipt of ${named.map(({ requestId }) => requestId).join(' or ')}: it is archived, the request has not ended, ` +
        'or the id was made with an earlier SLUICE_BUS_KEY; set that one to read it',
    )
  }
  const number = named.find(({ requestId }) => requestId === receipt.request_id)?.number ?? 0
  context.print(
    { ...receipt, attempt: number },
    facts([
      ['request', receipt.request_id],
      ['attempt', String(number)],
      ['account', receipt.account_id],
      ['provider', receipt.provider],
      ['status', receipt.status],
    ]),
  )
}

export const RECEIPTS: CommandGroup = {
  name: 'receipts',
  summary: "archive receipts of past months, and find those of providers' reports",
  commands: [
    {
      synopsis: 'archive <MONTH>',
      summary:
        'Writes the receipts of a past month such as 2027-01 to a file, checks it, and removes them from the database.',
      flags: { to: { value: 'DIR', help: 'folder of the file (SLUICE_ARCHIVE)' } },
      run: archive,
    },
    {
      synopsis: 'check <FILE>',
      summary: 'Compares an archive with the usage logs.',
      run: check,
    },
    {
      synopsis: 'attempt <ID>',
      summary: 'Shows of which request a provider reports: it knows requests by ids that only SLUICE_BUS_KEY reads.',
      run: attempt,
    },
    { synopsis: 'archives', summary: 'Lists the archived months.', run: archives },
  ],
}
