/** What rxe of Linux 6.1 with rdma-core 44 can do with memory. */
export const memoryOfRxe = {
  noRemoteKey: true,
  onDemand: false,
  rereg: false,
  nullRegions: false,
  deviceMemory: false,
  imports: false,
  newer: false
} as const

/** What mlx5 can do with memory, with the newest library. */
export const memoryOfMlx5 = {
  noRemoteKey: false,
  onDemand: true,
  rereg: true,
  nullRegions: true,
  deviceMemory: true,
  imports: true,
  newer: true
} as const
