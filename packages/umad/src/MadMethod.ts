/**
 * What a MAD asks or answers: the `UMAD_METHOD_` numbers of `infiniband/umad_types.h`, and those of subnet administration
 * in `infiniband/umad_sa.h`.
 *
 * @since 0.1.0
 */
import * as Enumeration from "@effect-rdma/core/Enumeration"

/**
 * The methods by name and number, responses with their bit 0x80.
 *
 * @category constants
 * @since 0.1.0
 */
export const enumeration = Enumeration.make("MadMethod", [
  ["get", 0x01, "Get"],
  ["set", 0x02, "Set"],
  ["getResp", 0x81, "GetResp"],
  ["send", 0x03, "Send"],
  ["trap", 0x05, "Trap"],
  ["report", 0x06, "Report"],
  ["reportResp", 0x86, "ReportResp"],
  ["trapRepress", 0x07, "TrapRepress"],
  ["getTable", 0x12, "GetTable"],
  ["getTableResp", 0x92, "GetTableResp"],
  ["getTraceTable", 0x13, "GetTraceTable"],
  ["getMulti", 0x14, "GetMulti"],
  ["getMultiResp", 0x94, "GetMultiResp"],
  ["delete", 0x15, "Delete"],
  ["deleteResp", 0x95, "DeleteResp"]
])

/**
 * Schema for a method.
 *
 * @category schemas
 * @since 0.1.0
 */
export const MadMethod = enumeration.schema

/**
 * A method.
 *
 * @category models
 * @since 0.1.0
 */
export type MadMethod = typeof MadMethod.Type

/**
 * Whether it answers another: its bit 0x80 is set, or it is a TrapRepress.
 *
 * @category guards
 * @since 0.1.0
 */
export const isResponse = (method: MadMethod): boolean =>
  method === "trapRepress" || (enumeration.toNative(method) & 0x80) !== 0
