/** How a file system fails: no room, only readable, a broken device, or a second for each write. */
export type DiskFault = 'ENOSPC' | 'EROFS' | 'EIO' | 'slow'

/** What fails now, of the two places that the journal has. */
export interface JournalFaults {
  readonly disk?: DiskFault
  readonly memory?: DiskFault
}

/** The file that says what fails. */
export const FAULTS_FILE = 'faults.json'
