const NAME = /^([A-Za-z0-9_]+)\.([0-9]+)$/

/** The owner of a journal's folder. */
export interface JournalOwner {
  readonly owner: string
  /** The process that writes the journal, or delivers it. */
  readonly pid: number
}

/** The name of the folder of a process's journal. */
export function journalName(owner: string, pid: number): string {
  return `${owner}.${pid}`
}

/** @returns undefined for a folder that is not a journal */
export function parseJournalName(name: string): JournalOwner | undefined {
  const match = NAME.exec(name)
  return match === null ? undefined : { owner: match[1] ?? '', pid: Number(match[2]) }
}
