/** One function of a profile. */
export interface ProfileRow {
  readonly name: string
  /** In the project, or a package, or a part of Node.js. */
  readonly file: string
  /** CPU time in the function itself, without its callees, as a share of all time that was not idle. */
  readonly share: number
}

/** The CPU profile of the worker under one load. */
export interface CaseProfile {
  readonly case: string
  readonly requests: number
  readonly events: number
  /** CPU time of the worker while it was recorded. */
  readonly cpuMicros: number
  readonly rows: readonly ProfileRow[]
}

/** Profiles that were recorded together. */
export interface Profiles {
  readonly at: string
  readonly cases: readonly CaseProfile[]
}

/** The newest profiles, and the profiles before a change. */
export interface ProfileFile {
  readonly before: Profiles | null
  readonly now: Profiles
}

/**
 * Takes new profiles into the file: the newest ones until now stay as "before" if there is no "before" yet, or if `restart`
 * asks to compare with them from now on.
 */
export function keepProfiles(file: ProfileFile | undefined, now: Profiles, restart: boolean): ProfileFile {
  if (file === undefined) return { before: null, now }
  return { before: restart || file.before === null ? file.now : file.before, now }
}

/** A call frame of V8's profilers. */
export interface CallFrame {
  readonly functionName: string
  readonly url: string
}

/** The part of a .cpuprofile that is read here. */
export interface CpuProfile {
  readonly nodes: readonly { readonly id: number; readonly callFrame: CallFrame }[]
  readonly samples: readonly number[]
  /** Microseconds before each sample. */
  readonly timeDeltas: readonly number[]
}

/** A node of V8's sampling heap profile. */
export interface HeapNode {
  readonly callFrame: CallFrame
  readonly selfSize: number
  readonly children: readonly HeapNode[]
}

const IDLE = '(idle)'
/** V8's names for time that is not spent in JavaScript, in plain words. */
const NATIVE: ReadonlyMap<string, string> = new Map([
  ['(program)', 'native code and the kernel, outside of any function'],
  ['(garbage collector)', 'V8'],
])

/** Self time by function and file, most first, without idle time. */
export function selfTimes(profile: CpuProfile, rowsMax: number): ProfileRow[] {
  const frames = new Map(profile.nodes.map(({ id, callFrame }) => [id, callFrame]))
  const sums = new Sums()
  // A sample counts for the time until the next one.
  for (const [i, id] of profile.samples.entries()) {
    const frame = frames.get(id)
    if (frame !== undefined && frame.functionName !== IDLE) sums.add(frame, profile.timeDeltas[i + 1] ?? 0)
  }
  return sums.top(rowsMax).map(({ name, file, sum }) => ({ name, file, share: sum / sums.total }))
}

/** Bytes allocated: all of them, and by function and file, most first. */
export function allocations(
  head: HeapNode,
  rowsMax: number,
): { bytes: number; top: { name: string; file: string; bytes: number }[] } {
  const sums = new Sums()
  const visit = (node: HeapNode): void => {
    sums.add(node.callFrame, node.selfSize)
    for (const child of node.children) visit(child)
  }
  visit(head)
  return { bytes: sums.total, top: sums.top(rowsMax).map(({ name, file, sum }) => ({ name, file, bytes: sum })) }
}

/** Adds up by function and file. */
class Sums {
  total = 0
  private readonly rows = new Map<string, { name: string; file: string; sum: number }>()

  add({ functionName, url }: CallFrame, amount: number): void {
    const name = functionName === '' ? '(anonymous)' : functionName
    const file = NATIVE.get(functionName) ?? fileOf(url)
    const key = `${name} ${file}`
    const row = this.rows.get(key)
    if (row === undefined) this.rows.set(key, { name, file, sum: amount })
    else row.sum += amount
    this.total += amount
  }

  top(rowsMax: number): { name: string; file: string; sum: number }[] {
    const rows = [...this.rows.values()].filter(({ sum }) => sum > 0)
    return rows.toSorted((a, b) => b.sum - a.sum).slice(0, rowsMax)
  }
}

/** A source file of the project, the name of a package, or a part of Node.js. */
export function fileOf(url: string): string {
  if (url === '') return 'native'
  const modules = url.lastIndexOf('/node_modules/')
  if (modules >= 0) {
    const parts = url.slice(modules + '/node_modules/'.length).split('/')
    return parts.slice(0, parts[0]?.startsWith('@') ? 2 : 1).join('/')
  }
  const compiled = url.lastIndexOf('/dist/')
  return compiled < 0 ? url : url.slice(compiled + '/dist/'.length).replace(/\.js$/, '.ts')
}
