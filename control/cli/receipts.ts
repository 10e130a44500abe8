import { join } from 'node:path'
import { parseMonth } from '../../contract/api/time.ts'
import { listArchives } from '../book/months/archives.ts'
import { readManifest } from '../customers/archive/archiveFile.ts'
import { archiveMonth } from '../customers/archive/archiveMonth.ts'
import { checkArchive } from '../customers/archive/checkArchive.ts'
import { type Arguments, argument, type CommandGroup, flag, UsageError } from './command.ts'
import type { CliContext } from './context.ts'
import { table } from './table.ts'

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

export const RECEIPTS: CommandGroup = {
  name: 'receipts',
  summary: 'archive receipts of past months',
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
    { synopsis: 'archives', summary: 'Lists the archived months.', run: archives },
  ],
}
