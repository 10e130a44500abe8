import assert from 'node:assert/strict'
import fc from 'fast-check'
import { type MeasuredAudio, measureAudio } from '../../../proxy/upload/audio/measure.ts'
import { limits } from '../limits.ts'

type Length = Pick<MeasuredAudio, 'seconds' | 'secondsMax'>

/** The length of a file's sound, which has to be of this container; null where it has no bound. */
export async function soundLength(file: Buffer, container: MeasuredAudio['container']): Promise<Length | null> {
  const found = await measureAudio(file, limits)
  assert.ok(found === null || found.container === container)
  return found === null ? null : { seconds: found.seconds, secondsMax: found.secondsMax }
}

/**
 * Asserts that no cut of a file is longer than the file, and that changed files are measured or refused.
 * @param headBytes by which the container is known; they stay as they are
 */
export async function assertDamageMeasured(
  files: readonly Buffer[],
  container: MeasuredAudio['container'],
  headBytes: number,
): Promise<void> {
  for (const file of files) {
    const whole = (await soundLength(file, container))?.seconds ?? 0
    for (let cut = 0; cut < file.length; cut += 3) {
      const part = await measureAudio(file.subarray(0, cut), limits)
      assert.ok((part?.seconds ?? 0) <= whole + 1e-6, `cut at ${cut}: ${part?.seconds}`)
    }
  }
  const changes = fc.array(fc.tuple(fc.nat(), fc.constantFrom(0, 1, 2, 127, 128, 255)), { minLength: 1, maxLength: 8 })
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...files), changes, async (file, edits) => {
      const changed = Buffer.from(file)
      for (const [at, byte] of edits) changed[headBytes + (at % (changed.length - headBytes))] = byte
      const found = await soundLength(changed, container)
      assert.ok(found === null || (found.seconds > 0 && found.secondsMax >= found.seconds))
    }),
    { numRuns: 2_000 },
  )
}
