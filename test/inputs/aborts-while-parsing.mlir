// The bindings abort on this module while they parse it: the tile's text is read as one of a single mode, and inferring
// the type of `local_tile` asks for its second (an uncaught std::out_of_range in nvidia-cutlass-dsl 4.8.1).
func.func @f(%tensor: !cute.coord_tensor<"(0,0)", "(64,64):(1@1,1@0)">) {
  %tile = cute.make_tile() : () -> !cute.tile<"[32:1!;64E:1]">
  %coord = cute.make_coord() : () -> !cute.coord<"(_,0)">
  %0 = cute.local_tile(%tensor, %tile, %coord) : (!cute.coord_tensor<"(0,0)", "(64,64):(1@1,1@0)">, !cute.tile<"[32:1!;64E:1]">, !cute.coord<"(_,0)">) -> !cute.coord_tensor<"(0,0)", "(32,64,2):(1@1,1@0,32@1)">
  return
}
