/** A folder or file that a container sees at `target`. */
export interface Mount {
  readonly target: string
  /**
   * `volume` stays, and `source` names it; `path` is a file or folder of this machine; `pod` stays while its pod does, however
   * often the program is started; `container` is empty at each start.
   */
  readonly kind: 'volume' | 'path' | 'pod' | 'container'
  readonly source: string
}

/** A container of the image as a manifest describes it, whatever the kind of the manifest. */
export interface Part {
  /** Of the service or the pod. */
  readonly name: string
  /** The words after the image. */
  readonly args: readonly string[]
  /** Of the manifest alone, without that of the image. */
  readonly environment: Readonly<Record<string, string>>
  readonly mounts: readonly Mount[]
  /** From SIGTERM to SIGKILL. */
  readonly stopGraceMs: number
}

/** The mount that a path of a container lies in. */
export function mountOf({ mounts }: Part, path: string): Mount | undefined {
  return mounts.find(({ target }) => path === target || path.startsWith(`${target}/`))
}
