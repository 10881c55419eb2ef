// Packet memory, shared by all ports. A cell lies across BANKS banks, one beat in each; whoever begins a cell in one
// cycle is at bank 0 then, at bank 1 in the next, and so on. So one writer and one reader may begin in each cycle, and
// nobody meets another one on the way: four ports of 10 Gb/s write and read side by side without a common wide bus.
module cells
  import pullnet_pkg::*;
#(
    parameter int W = 128,
    parameter int PORTS = 4,
    parameter int CELLS = 1024,
    parameter int BANKS = CELL_BYTES * 8 / W
) (
    input logic clk,
    input logic [PORTS-1:0] write,
    input logic [PORTS-1:0][$clog2(BANKS)-1:0] write_bank,
    input cell_t [PORTS-1:0] write_cell,
    input logic [PORTS-1:0][W-1:0] write_data,
    input logic [PORTS-1:0] read,
    input logic [PORTS-1:0][$clog2(BANKS)-1:0] read_bank,
    input cell_t [PORTS-1:0] read_cell,
    output logic [PORTS-1:0][W-1:0] read_data  // four cycles after `read`
);
  localparam int A = $clog2(CELLS);
  localparam int P = $clog2(PORTS);
  logic [BANKS-1:0][W-1:0] bank_out;
  logic [PORTS-1:0][$clog2(BANKS)-1:0] from1, from2;
  // What ports ask for, from registers: grants come late in a cycle.
  logic [PORTS-1:0] writes, reads;
  logic [PORTS-1:0][$clog2(BANKS)-1:0] writes_bank, reads_bank;
  cell_t [PORTS-1:0] writes_cell, reads_cell;
  logic [PORTS-1:0][W-1:0] writes_data;
  always_ff @(posedge clk) begin
    writes <= write;
    writes_bank <= write_bank;
    writes_cell <= write_cell;
    writes_data <= write_data;
    reads <= read;
    reads_bank <= read_bank;
    reads_cell <= read_cell;
  end

  for (genvar b = 0; b < BANKS; b++) begin : bank
    logic [W-1:0] words[CELLS];
    logic write1;
    logic [A-1:0] write_at1, read_at1;
    logic [W-1:0] data1;
    logic write0;
    logic [A-1:0] write_at0, read_at0;
    logic [P-1:0] writer, reader;
    // At most one port is at this bank. Choosing it by number, not by a mask, halves the logic in front of the memory.
    always_comb begin
      write0 = 1'b0;
      writer = '0;
      reader = '0;
      for (int p = 0; p < PORTS; p++) begin
        if (writes[p] && int'(writes_bank[p]) == b) begin
          write0 = 1'b1;
          writer |= P'(p);
        end
        if (reads[p] && int'(reads_bank[p]) == b) reader |= P'(p);
      end
      write_at0 = writes_cell[writer][A-1:0];
      read_at0 = reads_cell[reader][A-1:0];
    end
    always_ff @(posedge clk) begin
      write1 <= write0;
      write_at1 <= write_at0;
      read_at1 <= read_at0;
      data1 <= writes_data[writer];
    end
    always_ff @(posedge clk) begin
      if (write1) words[write_at1] <= data1;
      bank_out[b] <= words[read_at1];
    end
  end

  always_ff @(posedge clk) begin
    from1 <= reads_bank;
    from2 <= from1;
    for (int p = 0; p < PORTS; p++) read_data[p] <= bank_out[from2[p]];
  end
endmodule
