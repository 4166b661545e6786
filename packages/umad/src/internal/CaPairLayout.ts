/**
 * A layout of `infiniband/umad.h` that the headers before rdma-core 56 do not have.
 *
 * @since 0.1.0
 */
import * as Struct from "@effect-rdma/core/Struct"

/** The two devices of an adapter whose SMI and GSI are apart. */
export const CaPair = Struct.make("struct umad_ca_pair", 48, {
  smiName: Struct.string(0, 20, "smi_name"),
  smiPreferredPort: Struct.u32(20, "smi_preferred_port"),
  gsiName: Struct.string(24, 20, "gsi_name"),
  gsiPreferredPort: Struct.u32(44, "gsi_preferred_port")
})
