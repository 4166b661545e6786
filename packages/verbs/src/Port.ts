/**
 * Queries on one port of a device: `ibv_query_port(3)`, `ibv_query_gid(3)`, `ibv_query_pkey(3)`, `ibv_get_pkey_index(3)`,
 * `ibv_query_port_speed(3)`.
 *
 * @since 0.1.0
 */
import type * as Gid from "@effect-rdma/core/Gid"
import * as Identifier from "@effect-rdma/core/Identifier"
import * as PKey from "@effect-rdma/core/PKey"
import * as Resource from "@effect-rdma/core/Resource"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as DeviceContext from "./DeviceContext.ts"
import type * as GidEntry from "./GidEntry.ts"
import type * as PortAttributes from "./PortAttributes.ts"
import type { VerbsError } from "./VerbsError.ts"

const portNumber = Schema.decodeEffect(Identifier.PortNumber)
const gidIndex = Schema.decodeEffect(Identifier.GidIndex)
const pkeyIndex = Schema.decodeEffect(Identifier.PKeyIndex)

/**
 * The state of a port, numbered from 1. Fails with `EINVAL` when the device has no such port.
 *
 * @category queries
 * @since 0.1.0
 */
export const query = (
  context: DeviceContext.DeviceContext,
  portNum: number
): Effect.Effect<PortAttributes.PortAttributes, VerbsError | Schema.SchemaError> =>
  Effect.flatMap(
    Effect.suspend(() => portNumber(portNum)),
    (port) => Resource.use(context, (pointer) => context.verbs.queryPort(pointer, port))
  )

/**
 * The effective speed of a port in units of 100 Mb/s: `ibv_query_port_speed(3)`. Where several ports are one by link
 * aggregation, it is that of all. Blocks for a system call. Fails with `EINVAL` when the device has no such port, with
 * `EOPNOTSUPP` where the provider has no answer or libibverbs is older than rdma-core 62, and with the errno of a kernel
 * that does not know the question (`EPROTONOSUPPORT`).
 *
 * @category queries
 * @since 0.1.0
 */
export const speed = (
  context: DeviceContext.DeviceContext,
  portNum: number
): Effect.Effect<bigint, VerbsError | Schema.SchemaError> =>
  Effect.flatMap(
    Effect.suspend(() => portNumber(portNum)),
    (port) => Resource.use(context, (pointer) => context.verbs.queryPortSpeed(pointer, port))
  )

/**
 * The GID at an index of a port's table; an empty place is the zero GID. Fails with `EINVAL` for a port or an index that the
 * device does not have.
 *
 * @category queries
 * @since 0.1.0
 */
export const gid = (
  context: DeviceContext.DeviceContext,
  portNum: number,
  index: number
): Effect.Effect<Gid.Gid, VerbsError | Schema.SchemaError> =>
  Effect.flatMap(
    Effect.suspend(() => Effect.all([portNumber(portNum), gidIndex(index)])),
    ([port, index]) => Resource.use(context, (pointer) => context.verbs.queryGid(pointer, port, index))
  )

/**
 * The GID at an index of a port's table with its type and its network device: `ibv_query_gid_ex(3)`. Fails with `ENODATA` for
 * an empty place, with `EINVAL` for a port or an index that the device does not have, with `EOPNOTSUPP` on a libibverbs that
 * is too old for it (before rdma-core 32).
 *
 * @category queries
 * @since 0.1.0
 */
export const gidEntry = (
  context: DeviceContext.DeviceContext,
  portNum: number,
  index: number
): Effect.Effect<GidEntry.GidEntry, VerbsError | Schema.SchemaError> =>
  Effect.flatMap(
    Effect.all([portNumber(portNum), gidIndex(index)]),
    ([port, index]) => Resource.use(context, (pointer) => context.verbs.queryGidEx(pointer, port, index))
  )

/**
 * The P_Key at an index of a port's table. Fails with `ENOENT` for a port or an index that the device does not have: it is
 * read from sysfs.
 *
 * @category queries
 * @since 0.1.0
 */
export const pkey = (
  context: DeviceContext.DeviceContext,
  portNum: number,
  index: number
): Effect.Effect<PKey.PKey, VerbsError | Schema.SchemaError> =>
  Effect.flatMap(
    Effect.suspend(() => Effect.all([portNumber(portNum), pkeyIndex(index)])),
    ([port, index]) => Resource.use(context, (pointer) => context.verbs.queryPkey(pointer, port, index))
  )

/**
 * The first index of a P_Key in a port's table: `ibv_get_pkey_index(3)`. It reads the table from its start, a file for each
 * place. Fails with `ENOENT` when it is not there, or the device has no such port.
 *
 * @category queries
 * @since 0.1.0
 */
export const indexOfPkey = (
  context: DeviceContext.DeviceContext,
  portNum: number,
  pkey: number
): Effect.Effect<Identifier.PKeyIndex, VerbsError | Schema.SchemaError> =>
  Effect.flatMap(
    Effect.all([portNumber(portNum), Schema.decodeEffect(PKey.PKey)(pkey)]),
    ([port, pkey]) => Resource.use(context, (pointer) => context.verbs.getPkeyIndex(pointer, port, pkey))
  )
