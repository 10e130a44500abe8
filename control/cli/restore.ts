import { readFile, rename, writeFile } from 'node:fs/promises'
import { pino } from 'pino'
import { formatUsdWide } from '../../contract/money/units.ts'
import type { Redis } from '../../contract/wire/redis.ts'
import { epochKey, SHARD_COUNT } from '../../contract/wire/redisKeys.ts'
import { pipelineOf } from '../../contract/wire/redisShards.ts'
import { ensureAdmission } from '../admission/keeper.ts'
import { answersOf } from '../admission/scripts.ts'
import { type BookMark, MARK_FORMAT, readMark } from '../audit/bookMark.ts'
import { type Lost, lostSince } from '../audit/lostSince.ts'
import { runAudit } from '../audit/runAudit.ts'
import { migrate } from '../runtime/db/migrate.ts'
import { type Arguments, argument, type CommandGroup } from './command.ts'
import { type CliContext, CommandError } from './context.ts'

const EXIT_BROKEN = 1

async function mark(args: Arguments, context: CliContext): Promise<undefined> {
  const file = argument(args, 'FILE')
  const text = `${JSON.stringify(await readMark(await context.pool()))}\n`
  try {
    // A mark that is replaced is never half of one.
    await writeFile(`${file}.part`, text)
    await rename(`${file}.part`, file)
  } catch (error) {
    throw new CommandError(`${file} cannot be written: ${(error as Error).message}`)
  }
  context.print({ file }, `${file} says how far the book is`)
}

async function report(args: Arguments, context: CliContext): Promise<undefined> {
  const then = await markIn(argument(args, 'MARK'))
  const pool = await context.pool()
  const lost = await lostSince(pool, then, await readMark(pool))
  context.print({ since: then.at, lost }, linesOf(then, lost).join('\n'))
}

async function drill(args: Arguments, context: CliContext): Promise<number> {
  const then = await markIn(argument(args, 'MARK'))
  const [pool, redis] = [await context.pool(), await context.redis()]
  await requireEmpty(redis)
  await migrate(pool)
  const lost = await lostSince(pool, then, await readMark(pool))
  const begin = performance.now()
  await ensureAdmission({ pool, redis, log: pino({ enabled: false }), limits: context.limits })
  const openMs = Math.round(performance.now() - begin)
  const checks = await runAudit(pool, redis, context.limits, { rpcUrl: context.chainRpcUrl })
  const broken = checks.filter((check) => !check.ok)
  const lines = [
    ...linesOf(then, lost),
    `admission was loaded from the book within ${openMs} ms`,
    ...broken.map((check) => `BROKEN: ${check.name}: ${check.detail}`),
    broken.length === 0
      ? `the audit holds: ${checks.length} checks`
      : `${broken.length} of ${checks.length} do not hold`,
  ]
  context.print({ since: then.at, lost, open_ms: openMs, ok: broken.length === 0, checks }, lines.join('\n'))
  return broken.length === 0 ? 0 : EXIT_BROKEN
}

async function markIn(file: string): Promise<BookMark> {
  const text = await readFile(file, 'utf8').catch((error: Error) => {
    throw new CommandError(`${file} cannot be read: ${error.message}`)
  })
  const mark = parsed(text)
  if (mark?.format !== MARK_FORMAT) throw new CommandError(`${file} is no mark of a book, as "restore mark" writes it`)
  return mark
}

function parsed(text: string): BookMark | undefined {
  try {
    return (JSON.parse(text) as BookMark | null) ?? undefined
  } catch {
    return undefined
  }
}

/** A drill opens admission, which must never happen over the state of a gateway that serves. */
async function requireEmpty(redis: Redis): Promise<void> {
  const pipeline = pipelineOf(redis)
  for (let shard = 0; shard < SHARD_COUNT; shard++) pipeline.get(epochKey(shard))
  if (answersOf(await pipeline.exec()).every((epoch) => epoch === null)) return
  throw new CommandError('this Redis has the state of a gateway; a drill needs an empty one')
}

function linesOf(then: BookMark, lost: Lost): string[] {
  const lines = [`since ${then.at} the book lost ${lostReceipts(lost)}`]
  if (lost.movedOn) {
    lines.push(
      'entries were added after the restore, so balances cannot be compared any more: report before control starts',
    )
  }
  for (const [account, value] of Object.entries(lost.balances)) lines.push(balanceLine(account, BigInt(value)))
  const endings = Object.values(lost.endings).reduce((sum, count) => sum + count, 0)
  if (endings > 0) {
    const owners = Object.keys(lost.endings).length
    lines.push(`${endings} endings of ${owners} proxy processes come back if their journals are left, when these start`)
  }
  if (lost.signedHeads > 0) lines.push(`${lost.signedHeads} heads that were signed are gone`)
  if (lost.forked.length > 0) lines.push(`logs ${lost.forked.join(', ')} went on in another way than before`)
  if (lost.signedHeads > 0 || lost.forked.length > 0) {
    lines.push(
      'Heads signed from here on contradict checkpoints that were given out. Sign under another name from now on',
      '(log key NAME), and publish this report with the last checkpoint',
    )
  }
  return lines
}

function lostReceipts({ receiptsTotal, receipts, chargedUnits }: Lost): string {
  if (receiptsTotal === 0) return 'no receipt'
  const found = `${receiptsTotal} receipts in ${receipts.length} logs`
  if (chargedUnits === null) return found
  return `${found}, which charged ${chargedUnits} units (USD ${formatUsdWide(BigInt(chargedUnits))})`
}

function balanceLine(account: string, difference: bigint): string {
  return difference > 0n
    ? `${account} has ${difference} less than then`
    : `${account} has ${-difference} more than then`
}

export const RESTORE: CommandGroup = {
  name: 'restore',
  summary: 'find the gaps of a restored book',
  commands: [
    {
      synopsis: 'mark <FILE>',
      summary:
        'Writes a mark of how far the book is. Keep it elsewhere, for example every minute, for `restore report`.',
      run: mark,
    },
    {
      synopsis: 'report <MARK>',
      summary:
        'Reports what the book lacks of what it had at a mark, in receipts and units. Run it before control starts.',
      run: report,
    },
    {
      synopsis: 'drill <MARK>',
      summary: 'Brings up a restored copy of the book with an empty Redis, verifies it, and reports its gaps.',
      run: drill,
    },
  ],
}
