gpu.module @kernels {
  func.func @fast(%x: f32) -> (f32, f32, f32) {
    %0 = math.exp %x fastmath<fast> : f32
    %1 = math.tanh %x fastmath<fast> : f32
    %2 = math.sin %x fastmath<fast> : f32
    return %0, %1, %2 : f32, f32, f32
  }
}
