import { writeFile } from 'node:fs/promises'
import { createInterface } from 'node:readline/promises'
import { htmlReport } from '../load/htmlReport.ts'
import { type LoadPlan, loadTest } from '../load/loadTest.ts'
import { textReport } from '../load/textReport.ts'
import { type Arguments, type Command, flag, isSet, UsageError } from './command.ts'
import { type CliContext, CommandError } from './context.ts'
import { LOAD_FLAGS, plannedRequests, readLoadPlan } from './loadPlan.ts'

const EXIT_NOT_OK = 1

async function load(args: Arguments, context: CliContext): Promise<number> {
  const plan = await readLoadPlan(args, context)
  if (!isSet(args, 'yes')) await confirm(plan, context)
  const report = await loadTest(plan, context.limits, (line) => context.warn(line))
  const file = flag(args, 'html')
  if (file !== undefined) {
    await writeFile(context.pathOf(file), htmlReport(report)).catch((error: Error) => {
      throw new CommandError(`${file} cannot be written: ${error.message}`)
    })
  }
  context.print(report, textReport(report))
  return report.ok ? 0 : EXIT_NOT_OK
}

/** Asks before many requests are sent. Where their number is not known ahead, the allowance ends the load test instead. */
async function confirm(plan: LoadPlan, context: CliContext): Promise<void> {
  const { limits } = context
  const planned = plannedRequests(plan, limits)
  if (planned === undefined || planned <= limits.loadUnconfirmedMax) return
  const each = plan.targets.length > 1 ? ' to each gateway' : ''
  if (!process.stdin.isTTY) throw new UsageError(`${planned} requests${each} have to be confirmed by --yes`)
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  const answer = await terminal.question(`Send ${planned} requests${each}? (yes/no) `).catch(() => {
    // Ctrl-C and Ctrl-D reject it, and leave the cursor behind the question.
    context.warn('')
    return ''
  })
  terminal.close()
  if (answer.trim() !== 'yes') throw new CommandError('nothing was sent')
}

export const LOAD: Command = {
  synopsis: 'load <URL>',
  summary:
    'Load-tests a gateway that speaks the format of OpenAI, and compares its receipts if it has some. The exit status is 1 when a bar is missed, ' +
    'when a frame or a receipt is wrong, or when the load test ended early. It needs neither the database nor Redis.',
  brief: 'load-test a gateway',
  flags: LOAD_FLAGS,
  run: load,
}
