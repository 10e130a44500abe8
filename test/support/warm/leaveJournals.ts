import { readdirSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { journalName, parseJournalName } from '../../../proxy/admission/journal/journalName.ts'
import { readConfig } from '../../../proxy/config.ts'

/** Larger than the ids of processes are. */
const NO_PROCESS = 999_999_999

/** Lets others take over the journals of this process, as they do when it is gone. */
export function leaveJournals(): void {
  const { journalFolder, journalMemoryFolder } = readConfig(process.env)
  for (const folder of new Set([journalFolder, journalMemoryFolder ?? journalFolder])) {
    for (const name of namesIn(folder)) {
      const journal = parseJournalName(name)
      if (journal?.pid !== process.pid) continue
      renameSync(join(folder, name), join(folder, journalName(journal.owner, NO_PROCESS)))
    }
  }
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}
