/** A request under way that can be notified of a shutdown. */
export interface ActiveRun {
  /** Its place among the active runs, or -1; kept by ActiveRuns. */
  activeIndex: number
  /** Ends the request now: gateway_restarting before the answer began, stream_cut after. */
  cut(): void
}

/**
 * The requests of a process that hold or held money and have not ended. An array, because a Set with constant additions and
 * deletions leaves a trail of old tables, whose entries the garbage collector cannot free.
 */
export class ActiveRuns {
  private readonly runs: ActiveRun[] = []

  get size(): number {
    return this.runs.length
  }

  add(run: ActiveRun): void {
    run.activeIndex = this.runs.length
    this.runs.push(run)
  }

  /** Takes a run out; one that is not in changes nothing. */
  remove(run: ActiveRun): void {
    const at = run.activeIndex
    if (at < 0) return
    run.activeIndex = -1
    const last = this.runs.pop()
    if (last === undefined || last === run) return
    this.runs[at] = last
    last.activeIndex = at
  }

  /** Cuts every run. */
  cutAll(): void {
    for (const run of [...this.runs]) run.cut()
  }
}
