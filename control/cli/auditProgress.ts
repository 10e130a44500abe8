const SAID_EVERY_MS = 500

/** Says on standard error how far an audit is, now and then. */
export class AuditProgress {
  private readonly isTerminal: boolean = process.stderr.isTTY
  private readonly beginMs: number = performance.now()
  private saidMs = 0

  readonly note = (rows: number, total: number): void => {
    const nowMs = performance.now()
    if (nowMs - this.saidMs < SAID_EVERY_MS) return
    this.saidMs = nowMs
    this.say(progressLine(rows, total, nowMs - this.beginMs))
  }

  /** Takes the line off a terminal. */
  end(): void {
    if (this.isTerminal && this.saidMs > 0) process.stderr.write('\r\x1b[K')
  }

  private say(line: string): void {
    process.stderr.write(this.isTerminal ? `\r\x1b[K${line}` : `${line}\n`)
  }
}

/**
 * The progress, speed and remaining time of an audit, as a line.
 * @param total rows of which `rows` were read within `elapsedMs`
 */
export function progressLine(rows: number, total: number, elapsedMs: number): string {
  const perSecond = Math.round((rows * 1_000) / Math.max(1, elapsedMs))
  const percent = total === 0 ? 100 : Math.floor((rows * 100) / total)
  const leftSeconds = perSecond === 0 ? undefined : Math.ceil((total - rows) / perSecond)
  const left = leftSeconds === undefined ? '' : `, ${durationOf(leftSeconds)} left`
  return `${rows} of ${total} rows (${percent} %), ${perSecond} a second${left}`
}

function durationOf(seconds: number): string {
  const [hours, minutes] = [Math.floor(seconds / 3_600), Math.floor((seconds % 3_600) / 60)]
  if (hours > 0) return `${hours} h ${minutes} min`
  return minutes > 0 ? `${minutes} min ${seconds % 60} s` : `${seconds} s`
}
