import { readFileSync, readlinkSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isMissing } from './readJournal.ts'

const FILE = 'process-space'
const OWN = ownSpace()

/** The numbers of processes count within one start of one machine, and within one namespace of Linux (pid_namespaces(7)). */
function ownSpace(): string {
  try {
    const start = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
    return `${start} ${readlinkSync('/proc/self/ns/pid')}`
  } catch {
    return ''
  }
}

/** Notes in the folder of a journal where the number of its process counts. */
export async function noteProcessSpace(folder: string): Promise<void> {
  await writeFile(join(folder, FILE), OWN, { mode: 0o600 })
}

/** Whether this process would see the process that writes the journal of a folder, if that lives. */
export async function seesProcessOf(folder: string): Promise<boolean> {
  try {
    return (await readFile(join(folder, FILE), 'utf8')) === OWN
  } catch (error) {
    // A journal in memory has no note, nor has one of the version before.
    if (isMissing(error)) return true
    throw error
  }
}
