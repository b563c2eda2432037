// RUN: cutecc opt %s --pipeline=check-uninitialised-fragments --verify-diagnostics --allow-unregistered-dialect | filecheck %s

!layout = !cute.layout<"(2,4):(1,2)">
!own = !cute.memref<f32, rmem, align<32>, "(2,4):(1,2)">
!column = !cute.memref<f32, rmem, align<32>, "(2):(1)">
!third = !cute.memref<f32, rmem, align<16>, "(2):(1)">
!fourth = !cute.memref<f32, rmem, align<8>, "(2):(1)">
!flat = !cute.memref<f32, rmem, align<32>, "8:1">
!ptr = !cute.ptr<f32, rmem, align<32>>
!rows = !cute.memref<f32, gmem, "(2,4):(1,2)">
!copy = !cute_nvgpu.atom.universal_copy<f32>

// CHECK-LABEL: cuda.kernel @orders
// CHECK: cute.copy
gpu.module @kernels {
  cuda.kernel @orders(%rows: !rows) {
    %layout = cute.make_layout() : !layout
    %copy = cute.make_atom() : () -> !copy
    // Written, then read.
    %good = cute.memref.alloca(%layout) : !own
    cute.copy(%copy, %rows, %good) : (!copy, !rows, !own)
    cute.copy(%copy, %good, %rows) : (!copy, !own, !rows)
    // Never written; told once.
    %never = cute.memref.alloca(%layout) : !own
    // expected-warning-re @below {{cute.copy copies registers that nothing has written, all 8 elements of the fragment of line {{[0-9]+}}: load it first, or fill(0) it}}
    cute.copy(%copy, %never, %rows) : (!copy, !own, !rows)
    cute.copy(%copy, %never, %rows) : (!copy, !own, !rows)
    // Too late.
    %late = cute.memref.alloca(%layout) : !own
    // expected-warning-re @below {{line {{[0-9]+}} writes it, and comes later: load it first, or fill(0) it}}
    cute.copy(%copy, %late, %rows) : (!copy, !own, !rows)
    cute.copy(%copy, %rows, %late) : (!copy, !rows, !own)
    // Where its address goes, it may be written.
    %away = cute.memref.alloca(%layout) : !own
    "test.fills"(%away) : (!own) -> ()
    cute.copy(%copy, %away, %rows) : (!copy, !own, !rows)
    // Nothing is done with what is loaded, or something else may be chosen.
    %unused = cute.memref.alloca(%layout) : !own
    %nothing = cute.memref.load_vec(%unused) : (!own) -> vector<8xf32>
    cuda.return
  }

  // Views, by their places in the tensor.
  cuda.kernel @parts(%rows: !rows, %value: f32, %vector: vector<2xf32>, %n: i32) {
    %layout = cute.make_layout() : !layout
    %copy = cute.make_atom() : () -> !copy
    %tensor = cute.memref.alloca(%layout) : !own
    %first = cute.make_coord() : () -> !cute.coord<"(_,0)">
    %third = cute.make_coord() : () -> !cute.coord<"(_,2)">
    %a = cute.slice(%tensor, %first) : !own, !cute.coord<"(_,0)">
    cute.memref.store_vec(%vector, %a) : (vector<2xf32>, !column) -> ()
    %b = cute.slice(%tensor, %third) : !own, !cute.coord<"(_,2)">
    cute.memref.store_vec(%vector, %b) : (vector<2xf32>, !third) -> ()
    // Through another shape, from another place.
    %pointer = cute.get_iter(%tensor) : !own
    %six = cute.make_int_tuple() : () -> !cute.int_tuple<"6">
    %moved = cute.add_offset(%pointer, %six) : (!ptr, !cute.int_tuple<"6">) -> !cute.ptr<f32, rmem, align<8>>
    %pair = cute.make_layout() : !cute.layout<"(2):(1)">
    %c = cute.make_view(%moved, %pair) : !fourth
    cute.memref.store_vec(%vector, %c) : (vector<2xf32>, !fourth) -> ()
    %eight = cute.make_layout() : !cute.layout<"8:1">
    %flat = cute.make_view(%pointer, %eight) : !flat
    %at1 = cute.make_coord() : () -> !cute.coord<"1">
    %at2 = cute.make_coord() : () -> !cute.coord<"2">
    %x1 = cute.memref.load(%flat, %at1) : (!flat, !cute.coord<"1">) -> f32
    // expected-warning-re @below {{loads from registers that nothing has written, 1 of 8 elements of the fragment of line {{[0-9]+}}, the first at (0,1): fill(0) it first, or write each of its elements}}
    %x2 = cute.memref.load(%flat, %at2) : (!flat, !cute.coord<"2">) -> f32
    "test.use"(%x1, %x2) : (f32, f32) -> ()

    // A coordinate that the kernel computes may be any.
    %other = cute.memref.alloca(%layout) : !own
    %at = cute.make_coord(%n) : (i32) -> !cute.coord<"(_,?)">
    %d = cute.slice(%other, %at) : !own, !cute.coord<"(_,?)">
    cute.memref.store_vec(%vector, %d) : (vector<2xf32>, !fourth) -> ()
    cute.copy(%copy, %other, %rows) : (!copy, !own, !rows)
    cuda.return
  }

  cuda.kernel @branches(%rows: !rows, %n: i32) {
    %layout = cute.make_layout() : !layout
    %copy = cute.make_atom() : () -> !copy
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c4 = arith.constant 4 : i32
    %some = arith.cmpi slt, %n, %c4 : i32
    // What a branch may write counts as written, also where it comes out as the branch's result.
    %a = cute.memref.alloca(%layout) : !own
    %a2 = scf.if %some -> (!own) {
      cute.copy(%copy, %rows, %a) : (!copy, !rows, !own)
      scf.yield %a : !own
    } else {
      scf.yield %a : !own
    }
    cute.copy(%copy, %a2, %rows) : (!copy, !own, !rows)
    // One side does not write for the other.
    %b = cute.memref.alloca(%layout) : !own
    scf.if %some {
      cute.copy(%copy, %rows, %b) : (!copy, !rows, !own)
    } else {
      // expected-warning @below {{cute.copy copies registers that nothing has written}}
      cute.copy(%copy, %b, %rows) : (!copy, !own, !rows)
    }
    // One tensor or another is not followed.
    %c = cute.memref.alloca(%layout) : !own
    %d = cute.memref.alloca(%layout) : !own
    %e = scf.if %some -> (!own) {
      scf.yield %c : !own
    } else {
      scf.yield %d : !own
    }
    cute.copy(%copy, %rows, %e) : (!copy, !rows, !own)
    cute.copy(%copy, %c, %rows) : (!copy, !own, !rows)
    cuda.return
  }

  cuda.kernel @loops(%rows: !rows, %n: i32) {
    %layout = cute.make_layout() : !layout
    %copy = cute.make_atom() : () -> !copy
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c4 = arith.constant 4 : i32
    // The first round reads what only later rounds have.
    %a = cute.memref.alloca(%layout) : !own
    %a2 = scf.for %i = %c0 to %n step %c1 iter_args(%t = %a) -> (!own) : i32 {
      // expected-warning-re @below {{writes it, and comes later: load it before the loop at line {{[0-9]+}}, or fill(0) it}}
      cute.copy(%copy, %t, %rows) : (!copy, !own, !rows)
      cute.copy(%copy, %rows, %t) : (!copy, !rows, !own)
      scf.yield %t : !own
    }
    // The first round may not come there.
    %b = cute.memref.alloca(%layout) : !own
    scf.for %i = %c0 to %n step %c1 : i32 {
      %later = arith.cmpi ne, %i, %c0 : i32
      scf.if %later {
        cute.copy(%copy, %b, %rows) : (!copy, !own, !rows)
      }
      cute.copy(%copy, %rows, %b) : (!copy, !rows, !own)
    }
    %c = cute.memref.alloca(%layout) : !own
    scf.for %i = %c0 to %n step %c1 : i32 {
      scf.for %j = %c0 to %i step %c1 : i32 {
        cute.copy(%copy, %c, %rows) : (!copy, !own, !rows)
      }
      cute.copy(%copy, %rows, %c) : (!copy, !rows, !own)
    }
    // A loop of four rounds is no branch.
    %d = cute.memref.alloca(%layout) : !own
    scf.for %i = %c0 to %n step %c1 : i32 {
      scf.for %j = %c0 to %c4 step %c1 : i32 {
        // expected-warning @below {{cute.copy copies registers that nothing has written}}
        cute.copy(%copy, %d, %rows) : (!copy, !own, !rows)
      }
      cute.copy(%copy, %rows, %d) : (!copy, !rows, !own)
    }
    // Of a tensor that each round makes, no round before has written anything.
    scf.for %i = %c0 to %n step %c1 : i32 {
      %e = cute.memref.alloca(%layout) : !own
      %later = arith.cmpi ne, %i, %c0 : i32
      scf.if %later {
        // expected-warning @below {{cute.copy copies registers that nothing has written}}
        cute.copy(%copy, %e, %rows) : (!copy, !own, !rows)
      }
      cute.copy(%copy, %rows, %e) : (!copy, !rows, !own)
    }
    cuda.return
  }
}
