/** The memory of all answers that a process keeps until they are read, in bytes. */
export class AnswerMemory {
  private readonly bytesMax: number
  private bytes = 0

  constructor(bytesMax: number) {
    this.bytesMax = bytesMax
  }

  /** What is taken now, in bytes. */
  get bytesOpen(): number {
    return this.bytes
  }

  /** Takes memory for bytes of an answer. @returns false when there is not as much left; nothing is taken then */
  take(bytes: number): boolean {
    if (this.bytes + bytes > this.bytesMax) return false
    this.bytes += bytes
    return true
  }

  /** Gives memory back that was taken. */
  release(bytes: number): void {
    this.bytes -= bytes
  }
}
