import { linkSync, rmSync, writeFileSync } from 'node:fs'
import { noted, processOf, runs } from './leftover.ts'

const ATTEMPTS_MAX = 100

/**
 * Notes this process in a pid file, so that of several processes that start concurrently one has it. A file of a dead
 * process is taken over.
 * @param program part of the command line of the processes that compete, because ids are used again
 * @returns the id of the process that has it, or is taking it over; undefined when it is this one
 */
export function takePidFile(pidFile: string, program: RegExp): number | undefined {
  // A link appears with its content, which a written file does not.
  const own = `${pidFile}.${process.pid}`
  writeFileSync(own, `${process.pid}\n`)
  try {
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
      if (isLinked(own, pidFile)) return undefined
      const other = processOf(pidFile, program) ?? takeOver(own, pidFile, program)
      if (other !== undefined) return other
    }
    throw new Error(`${pidFile} changes too often to be taken`)
  } finally {
    rmSync(own, { force: true })
  }
}

/**
 * Removes the file of a dead process. Only the holder of a second file does, because a process that is late could otherwise
 * remove the file of one that has just taken it.
 * @returns the id of the process that has the file or takes it over; undefined when the file is gone
 */
function takeOver(own: string, pidFile: string, program: RegExp): number | undefined {
  const turn = `${pidFile}.takeover`
  if (!isLinked(own, turn)) {
    const holder = noted(turn)
    if (holder === undefined || runs(holder, program)) return holder
    // It was killed before it could remove the file.
    rmSync(turn, { force: true })
    return undefined
  }
  try {
    const other = processOf(pidFile, program)
    if (other === undefined) rmSync(pidFile, { force: true })
    return other
  } finally {
    rmSync(turn, { force: true })
  }
}

/** @returns whether the link was made, false when something has its name */
function isLinked(file: string, name: string): boolean {
  try {
    linkSync(file, name)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}
