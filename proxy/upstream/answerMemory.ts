import type { UpstreamLimits } from './limits.ts'

/** The memory of all answers that a process keeps until they are read, in bytes. */
export class AnswerMemory {
  private readonly bytesMax: number
  private readonly whole: AnswerMemory | undefined
  private bytes = 0

  /** @param whole the memory that this is a share of; absent for all of it */
  constructor(bytesMax: number, whole?: AnswerMemory) {
    this.bytesMax = bytesMax
    this.whole = whole
  }

  /** The memory taken now, in bytes. */
  get bytesOpen(): number {
    return this.bytes
  }

  /** Takes memory for bytes of an answer. @returns false when there is not as much left; nothing is taken then */
  take(bytes: number): boolean {
    if (this.bytes + bytes > this.bytesMax || this.whole?.take(bytes) === false) return false
    this.bytes += bytes
    return true
  }

  /** Gives memory back that was taken. */
  release(bytes: number): void {
    this.bytes -= bytes
    this.whole?.release(bytes)
  }
}

/** The memory of all answers of a process, and the share of it that registered providers have. */
export function answerMemories(
  limits: Pick<UpstreamLimits, 'answerBytesOpenMax' | 'registeredAnswerBytesOpenMax'>,
): Readonly<Record<'answers' | 'registeredAnswers', AnswerMemory>> {
  const answers = new AnswerMemory(limits.answerBytesOpenMax)
  return { answers, registeredAnswers: new AnswerMemory(limits.registeredAnswerBytesOpenMax, answers) }
}
