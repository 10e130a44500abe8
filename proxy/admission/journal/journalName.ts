import { isId } from '../../../contract/wire/ids.ts'

/** Of process ids; larger numbers are none. */
const NAME = /^([^.]+)\.([1-9][0-9]{0,8})$/

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
  const [, owner = '', pid] = NAME.exec(name) ?? []
  return isId('own', owner) ? { owner, pid: Number(pid) } : undefined
}

/** The name of the folder of a journal that cannot be read: no journal's, so that it stays as it is. */
export function unreadName(name: string): string {
  return `${name}.unread`
}
