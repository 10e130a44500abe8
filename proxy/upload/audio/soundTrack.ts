import type { Duration } from './reader.ts'

/** Thrown within a reader whose file has no bound, or is not of the container. */
export class Unmeasured extends Error {}

/** Adds up the packets of one track. */
export interface PacketSum {
  /** @returns false when the packet shows that the track cannot be measured */
  take(packet: Buffer): boolean
  /** The length of the packets. @param granule the samples that the file states; 0 for none */
  duration(granule: number): Duration
}

/** The work that the packets of a file may take: more of them than bytes, or of their bytes than there are, are claims. */
export class PacketBudget {
  private packets: number
  private bytes: number

  /** @param bytes of the file */
  constructor(bytes: number, packetsMax: number) {
    this.bytes = bytes
    this.packets = packetsMax
  }

  /** @throws Unmeasured */
  take(bytes: number): void {
    this.packets--
    this.bytes -= bytes
    if (this.packets < 0 || this.bytes < 0) throw new Unmeasured()
  }
}

/**
 * The duration of a file with several tracks of sound, of which a player plays one.
 * @returns null for none
 */
export function longestOf(tracks: readonly Duration[]): Duration | null {
  if (tracks.length === 0) return null
  let seconds = 0
  let secondsMax = 0
  for (const track of tracks) {
    seconds = Math.max(seconds, track.seconds)
    secondsMax = Math.max(secondsMax, track.secondsMax)
  }
  return { seconds, secondsMax }
}
