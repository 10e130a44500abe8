/** What a test tells a warm process: run the program once. It stops on SIGTERM, like the program's own process. */
export interface RunProgram {
  readonly environment: NodeJS.ProcessEnv
  readonly logFile: string
}

/** What a warm process answers. */
export type FromWarm =
  /** The program announced its ports. */
  | { readonly ready: Readonly<Record<string, number>> }
  /** The program has ended and has left nothing open: the process can run it again. */
  | { readonly idle: true }
