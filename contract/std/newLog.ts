import { type Logger, type LoggerOptions, pino } from 'pino'
import { LogOutput } from './logOutput.ts'

/** The log of a program, on standard output. */
export const newLog = (options: LoggerOptions): Logger => pino(options, new LogOutput())
