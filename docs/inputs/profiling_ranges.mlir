func.func @twice(%a: i32) -> i32 {
  iket.range_push("load")
  %0 = arith.addi %a, %a : i32
  iket.range_pop
  iket.mark("done")
  return %0 : i32
}
