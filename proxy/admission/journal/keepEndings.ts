import { open, readdir, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { BlockWriter } from './block.ts'
import { type EndingRecord, endingText, leaseText } from './records.ts'
import { segmentName, segmentNumber } from './segmentFile.ts'

/**
 * Adds endings to the journal of a process that is gone, all or none of them, in a separate file.
 * @param folders of the journal; one of them gets the file, the first that can be written
 * @param key of the journal's owner
 * @throws the error of the file system when none can be written
 */
export async function keepEndings(
  folders: readonly string[],
  endings: readonly EndingRecord[],
  key: Buffer,
): Promise<void> {
  const writer = new BlockWriter(1, key)
  for (const ending of endings) writer.add(endingText(leaseText(ending), ending))
  const block = writer.seal()
  const faults: unknown[] = []
  for (const folder of folders) {
    try {
      return await writeSegment(folder, block)
    } catch (error) {
      faults.push(error)
    }
  }
  throw new AggregateError(faults, 'no folder of the journal can be written')
}

async function writeSegment(folder: string, block: Buffer): Promise<void> {
  const numbers = (await readdir(folder)).map((name) => segmentNumber(name) ?? 0)
  const path = join(folder, segmentName(Math.max(0, ...numbers) + 1))
  // A file that was cut short would have some of the endings; the name makes it one of the journal's once it is whole.
  const unfinished = `${path}.unfinished`
  const file = await open(unfinished, 'w', 0o600)
  try {
    await file.writeFile(block)
    await file.datasync()
  } finally {
    await file.close()
  }
  await rename(unfinished, path)
}
