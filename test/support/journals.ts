import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { journalKeys } from '../../proxy/admission/journal/journalKeys.ts'
import { parseJournalName } from '../../proxy/admission/journal/journalName.ts'
import { type JournalContent, readJournal } from '../../proxy/admission/journal/readJournal.ts'
import { TEST_BUS_KEY } from './parts/sealedCalls.ts'

const BUS_KEYS = [Buffer.from(TEST_BUS_KEY, 'hex')]

/** The folders of a stack in which the journals of its processes are, in memory and on disk. */
function roots(stackDir: string): string[] {
  const inMemory = readdirSync(stackDir).filter((name) => /^sluice-[0-9a-f]+$/.test(name))
  return ['journal', ...inMemory].map((name) => join(stackDir, name))
}

/** The folders of journals that are there, by the process whose requests they have. */
export function journalFolders(stackDir: string): Map<string, string[]> {
  const found = new Map<string, string[]>()
  for (const root of roots(stackDir)) {
    for (const name of namesIn(root)) {
      const owner = parseJournalName(name)?.owner
      if (owner !== undefined) found.set(owner, [...(found.get(owner) ?? []), join(root, name)])
    }
  }
  return found
}

/** Whether every journal belongs to one of these processes: those of others are delivered. */
export function areDelivered(stackDir: string, living: readonly number[]): boolean {
  const names = roots(stackDir).flatMap(namesIn)
  return names.every((name) => {
    const journal = parseJournalName(name)
    return journal === undefined || living.includes(journal.pid)
  })
}

/** What all journals of a stack have. */
export async function readJournals(stackDir: string): Promise<JournalContent[]> {
  const journals = [...journalFolders(stackDir)]
  return Promise.all(journals.map(([owner, folders]) => readJournal(folders, journalKeys(BUS_KEYS, owner))))
}

/** The newest request that has an opening and no ending; undefined without one. */
export async function openRequest(stackDir: string): Promise<string | undefined> {
  const contents = await readJournals(stackDir)
  const ids = contents.flatMap(({ open }) => open.map(({ requestId }) => requestId))
  return ids.sort().at(-1)
}

/** Whether a request's ending is written down. */
export async function hasEnding(stackDir: string, requestId: string): Promise<boolean> {
  const contents = await readJournals(stackDir)
  return contents.some(({ endings }) =>
    [...endings.values()].some((own) => own.some((ending) => ending.requestId === requestId)),
  )
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}
